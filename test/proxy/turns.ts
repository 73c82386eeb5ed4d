import { setImmediate as turn } from 'node:timers/promises';

/** Resolves once `holds` does; looks again in each turn of the event loop. What never comes about runs into the test's limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

/**
 * Resolves when `moved` does not grow any more. All parties live in this process and take turns on one event loop, so
 * turns tell, not time: whoever could still move a byte had its chance to.
 */
export async function standstill(moved: () => number): Promise<number> {
  for (let before = -1; before !== moved();) {
    before = moved();
    for (let turns = 0; turns < 200; turns += 1) await turn();
  }
  return moved();
}
