import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port as the sidecar does: a bench of open streams connects faster than the default backlog takes. */
export async function listen(server: Server): Promise<number> {
  server.keepAliveTimeout = 75_000;
  server.listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Tells the runner where this process listens, and ends with the runner. */
export function announce(port: number): void {
  process.on('disconnect', () => process.exit());
  process.send?.({ port });
}
