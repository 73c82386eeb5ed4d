import { setImmediate as nextTurn } from 'node:timers/promises';

/** Most that work that can wait takes of one turn of the event loop, in milliseconds. */
const MOST_MS = 0.5;
/** It takes no more than all other work took since it last gave way, but for this much. */
const LEAST_MS = 0.05;

/** When what such work may take of this turn is used up; absent when it has not begun. */
let usedUpAt: number | undefined;
let gaveWayAt = -Infinity;

/**
 * To be called between steps of work that can wait. Nothing to wait for while this turn has time for it; then, the next
 * turn. All such work shares the time, since there is one event loop: several pieces would otherwise add up.
 */
export function giveWay(): Promise<void> | undefined {
  const now = performance.now();
  if (usedUpAt === undefined) {
    usedUpAt = now + Math.min(MOST_MS, Math.max(LEAST_MS, now - gaveWayAt));
    setImmediate(() => {
      usedUpAt = undefined;
    });
    return undefined;
  }
  if (now < usedUpAt) return undefined;
  gaveWayAt = now;
  return nextTurn();
}
