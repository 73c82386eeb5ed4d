/** A listener could not be started: its port is taken, or its address is not this machine's. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  /**
   * @param listener what was to listen, as in `proxy`.
   * @param remedy the setting to change.
   */
  constructor(
    listener: string,
    address: { readonly host: string; readonly port: number },
    remedy: string,
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`the ${listener} cannot listen on ${address.host}:${address.port} (${reason}); ${remedy}`, { cause });
  }
}
