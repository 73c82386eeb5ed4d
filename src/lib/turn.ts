import { setImmediate as nextTurn } from 'node:timers/promises';

/** What work that can wait may take of one turn of the event loop, in milliseconds: streams come in between. */
const TURN_MS = 0.5;

/** When what is left of this turn is used up; absent when none of it has been used. */
let usedUpAt: number | undefined;

/**
 * To be called between steps of work that can wait. Nothing to wait for while this turn has time for it; then, the next
 * turn. All such work shares the time, since there is one event loop: several pieces would otherwise add up.
 */
export function giveWay(): Promise<void> | undefined {
  if (usedUpAt === undefined) {
    usedUpAt = performance.now() + TURN_MS;
    setImmediate(() => {
      usedUpAt = undefined;
    });
    return undefined;
  }
  return performance.now() < usedUpAt ? undefined : nextTurn();
}
