import { describe, expect, it } from 'vitest';
import { createPersistence, watchLoopDelay } from '../../src/lib/loop-delay.ts';

describe('a reading that must persist', () => {
  it.each([
    ['begins as false', [], false],
    ['does not follow one reading', [true], false],
    ['follows two in a row', [true, true], true],
    ['does not follow readings that alternate', [true, false, true, false, true], false],
    ['stays through one reading to the contrary', [true, true, false], true],
    ['goes back after two', [true, true, false, false], false],
  ] as const)('%s', (_, readings, expected) => {
    const settled = createPersistence();
    let last = false;
    for (const reading of readings) last = settled(reading);
    expect(last).toBe(expected);
  });
});

describe('the watch over the event loop', () => {
  it('says that the delay is high while the loop is kept busy in long pieces', async () => {
    const delay = watchLoopDelay(20);
    expect(delay.isHigh()).toBe(false);

    await busyUntil(() => delay.isHigh());

    expect(delay.isHigh()).toBe(true);
    delay[Symbol.dispose]();
  });
});

/** Keeps the loop busy for 60 ms at a time until `done`. */
async function busyUntil(done: () => boolean): Promise<void> {
  while (!done()) {
    const end = performance.now() + 60;
    while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
