import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONGEST_RETRY_AFTER_MS, readRetryAfterMs, retryDelayMs } from '../../src/judge/retry.ts';

describe('the wait before a retry', () => {
  const random = () => fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('doubles up to eight seconds, the upper half of it random', () => {
    fc.assert(
      fc.property(fc.nat(40), random(), (retry, drawn) => {
        const ceilingMs = Math.min(500 * 2 ** retry, 8_000);
        const delayMs = retryDelayMs(retry, undefined, () => drawn);
        expect(delayMs).toBeGreaterThanOrEqual(ceilingMs / 2);
        expect(delayMs).toBeLessThanOrEqual(ceilingMs);
      }),
    );
  });

  it('is never shorter than the endpoint asks for', () => {
    fc.assert(
      fc.property(fc.nat(10), fc.nat(LONGEST_RETRY_AFTER_MS), random(), (retry, afterMs, drawn) => {
        expect(retryDelayMs(retry, afterMs, () => drawn)).toBeGreaterThanOrEqual(afterMs);
      }),
    );
  });
});

describe('retry-after', () => {
  const nowMs = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT');

  it.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '120', 'retry-after': '3' }, 120],
    [{ 'retry-after-ms': 'soon', 'retry-after': '3' }, 3_000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT' }, 9_000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }, 0],
    [{ 'retry-after': '-5' }, 0],
    [{ 'retry-after': 'later' }, undefined],
    [{}, undefined],
  ])('%o is %s ms', (headers, expected) => {
    expect(readRetryAfterMs(new Headers(headers), nowMs)).toBe(expected);
  });
});
