import type { ListenPlace } from '../lib/listen-error.ts';

/** Where the proxy is to listen. */
interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** A unix socket, in place of both. */
  readonly socket?: string;
}

/** The same with the settings that say so, for those who must change them. */
export function proxyPlace({ socket, host, port }: ListenAddress): ListenPlace {
  if (socket !== undefined) return { socket, setting: 'listen.socket or LISTEN_SOCKET' };
  return { host, port, settings: { host: 'listen.host or HOST', port: 'listen.port or PORT' } };
}
