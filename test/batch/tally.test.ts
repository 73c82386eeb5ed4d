import { describe, expect, it } from 'vitest';
import { createTally } from '../../src/batch/tally.ts';

describe('a tally', () => {
  it('of nothing says so', () => {
    expect(createTally().summary()).toBe('0 scored, 0 not applicable, 0 failed');
  });

  it('counts failures by their type, in the order of the alphabet', () => {
    const tally = createTally();
    for (const errorType of ['unavailable', 'timeout', 'unavailable'] as const) {
      tally.add({ kind: 'failed', errorType, cause: 'no answer' });
    }
    expect(tally.summary()).toBe('0 scored, 0 not applicable, 3 failed (timeout 1, unavailable 2)');
    expect([tally.rows(), tally.failedAs('unavailable'), tally.failedAs('refused')]).toEqual([3, 2, 0]);
  });
});
