import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createGathering } from '../../src/lib/gathering.ts';
import { virtualClock } from '../support/virtual-clock.ts';

function setUp({ delayMs = 1000, most = 3, mostWeight = 100 } = {}) {
  const clock = virtualClock();
  const gathering = createGathering({ delayMs, most, mostWeight, clock });
  const due: string[] = [];
  return {
    clock,
    gathering,
    due,
    /** Sends work to wait; resolves in a later turn, so that what is due has been noted. */
    join: async (name: string, weight = 1) => {
      void gathering.join(weight)?.then(() => due.push(name));
      await turn();
    },
  };
}

describe('work that is gathered', () => {
  it('is due together, in the order in which it came, once the first has waited its time', async () => {
    const { clock, due, join } = setUp();
    await join('a');
    clock.advance(999);
    await join('b');
    expect(due).toEqual([]);

    clock.advance(1);
    await turn();
    expect(due).toEqual(['a', 'b']);
  });

  it('waits its own time after others were due', async () => {
    const { clock, due, join } = setUp();
    await join('a');
    clock.advance(1000);
    await join('b');
    clock.advance(999);
    await turn();
    expect(due).toEqual(['a']);

    clock.advance(1);
    await turn();
    expect(due).toEqual(['a', 'b']);
  });

  it('is due when there is enough of it, and then the next begins anew', async () => {
    const { clock, due, join } = setUp();
    for (const name of ['a', 'b', 'c', 'd']) await join(name);
    expect(due).toEqual(['a', 'b', 'c']);

    clock.advance(999);
    await turn();
    expect(due).toHaveLength(3);
    clock.advance(1);
    await turn();
    expect(due).toEqual(['a', 'b', 'c', 'd']);
  });

  it('is due when it holds too much', async () => {
    const { due, join } = setUp();
    await join('a', 60);
    expect(due).toEqual([]);
    await join('b', 40);
    expect(due).toEqual(['a', 'b']);
    await join('c', 60);
    expect(due).toHaveLength(2);
  });

  it('is due when it is asked for, and what comes later waits again', async () => {
    const { clock, gathering, due, join } = setUp();
    gathering.release();
    await join('a');
    gathering.release();
    await join('b');
    expect(due).toEqual(['a']);

    clock.advance(1000);
    await turn();
    expect(due).toEqual(['a', 'b']);
  });

  it('does not wait at all without a delay', () => {
    expect(setUp({ delayMs: 0 }).gathering.join(1)).toBeUndefined();
  });
});
