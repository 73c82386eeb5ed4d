import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { ListenError, type ListenPlace } from '../lib/listen-error.ts';

export interface AdminListener extends AsyncDisposable {
  readonly port: number;
  /** Stops listening and ends what is open. Idempotent. */
  stop(): Promise<void>;
}

interface ListenAddress {
  readonly port: number;
  readonly host: string;
}

/** Where it is to listen, with the settings that say so, for those who must change them. */
export function adminPlace({ host, port }: ListenAddress): ListenPlace {
  return { host, port, settings: { host: 'admin.host or ADMIN_HOST', port: 'admin.port or ADMIN_PORT' } };
}

/**
 * Serves `app` on a port of its own.
 *
 * @param address port 0 takes a free one.
 * @throws {ListenError} when the port or address cannot be had.
 */
export async function startAdminListener(app: RequestListener, { port, host }: ListenAddress): Promise<AdminListener> {
  const server = createServer(app);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new ListenError('admin listener', adminPlace({ port, host }), cause);
  }
  const bound = server.address();
  let stopping: Promise<void> | undefined;
  const listener: AdminListener = {
    port: bound !== null && typeof bound === 'object' ? bound.port : port,
    stop() {
      stopping ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return stopping;
    },
    [Symbol.asyncDispose]: () => listener.stop(),
  };
  return listener;
}
