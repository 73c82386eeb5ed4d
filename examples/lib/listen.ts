import { once } from 'node:events';
import type { Server } from 'node:http';

/** A server that listens. Disposing of it cuts its open connections and frees the port. */
export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  /** Without a slash at the end. */
  readonly url: string;
}

/**
 * Starts `server` on `port` (0: any free one) of `host`.
 *
 * @throws when the port is taken or not allowed.
 */
export async function listen(server: Server, port: number, host = '127.0.0.1'): Promise<RunningServer> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on TCP');
  return {
    port: address.port,
    url: `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
