/** A listener could not be started: its port or socket is taken, or its address is not this machine's. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  /**
   * @param listener what was to listen, as in `proxy`.
   * @param remedy the setting to change.
   */
  constructor(
    listener: string,
    address: { readonly host: string; readonly port: number } | { readonly socket: string },
    remedy: string,
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const place = 'socket' in address ? address.socket : `${address.host}:${address.port}`;
    super(`the ${listener} cannot listen on ${place} (${reason}); ${remedy}`, { cause });
  }
}
