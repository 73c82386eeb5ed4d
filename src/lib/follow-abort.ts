/** A controller of one piece of work that also aborts when what it follows does. */
export interface FollowingController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** To be called when the work has ended: from then on nothing is followed. */
  unfollow(): void;
}

/**
 * In place of `AbortSignal.any`, whose signals Node registers to be told of their end: V8 keeps those, and all that hangs on
 * them, until the next full collection of garbage, and each lesser one, which stops the streams, copies them.
 *
 * @param followed should not live much longer than the work. Its listeners are a linked list, in which one that was taken out can be
 *   kept alive by one that was there longer.
 */
export function followAbort(followed: AbortSignal): FollowingController {
  const controller = new AbortController();
  const abort = (): void => controller.abort(followed.reason);
  if (followed.aborted) abort();
  else followed.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unfollow: () => followed.removeEventListener('abort', abort),
  };
}
