import { errorCode } from './error-code.ts';
import { hostAndPort } from './host-and-port.ts';

/** Where a listener was to listen, and how the settings are called that say so. */
export type ListenPlace =
  | {
      readonly host: string;
      readonly port: number;
      readonly settings: { readonly host: string; readonly port: string };
    }
  | { readonly socket: string; readonly setting: string };

/** A listener could not be started: its port or socket is taken, or its address is not this machine's. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  /** @param listener what was to listen, as in `proxy`. */
  constructor(listener: string, place: ListenPlace, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`the ${listener} cannot listen on ${nameOfPlace(place)} (${reason}); ${remedyFor(errorCode(cause), place)}`, {
      cause,
    });
  }
}

/** The address, or the path of the socket. */
export function nameOfPlace(place: ListenPlace): string {
  if ('socket' in place) return place.socket;
  return hostAndPort(place.host, place.port);
}

function remedyFor(code: string | undefined, place: ListenPlace): string {
  if ('socket' in place) return socketRemedy(code, place.setting);
  const { host, port } = place.settings;
  switch (code) {
    case 'EADDRINUSE':
      return `another process listens there: stop it, or set ${port}`;
    case 'EACCES':
      return `this user may not take that port: set ${port} to one above 1023`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `that is no address, and no name that can be resolved to one: set ${host}`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `that is no address of this machine: set ${host}`;
    default:
      return `set ${host}, or ${port}`;
  }
}

function socketRemedy(code: string | undefined, setting: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `there is something already: if it is a socket that nobody listens on, remove it, or set ${setting}`;
    // Node says the same of a folder that does not exist.
    case 'EACCES':
      return `its folder must exist and be open for writing: see to that, or set ${setting}`;
    case 'EINVAL':
    case 'ENAMETOOLONG':
      return `the path is longer than the system takes for a socket, about 100 bytes: set ${setting} to a shorter one`;
    default:
      return `set ${setting}`;
  }
}
