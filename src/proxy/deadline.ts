import { systemClock } from '../lib/clock.ts';

/** A time limit that can be started again and called off. */
export interface Deadline {
  readonly start: () => void;
  readonly stop: () => void;
}

/** Calls `expired` once `timeoutMs` after the last start; never when there is no limit. */
export function createDeadline(timeoutMs: number | undefined, expired: () => void): Deadline {
  let cancel: (() => void) | undefined;
  return {
    start() {
      cancel?.();
      if (timeoutMs !== undefined) cancel = systemClock.schedule(timeoutMs, expired);
    },
    stop() {
      cancel?.();
    },
  };
}
