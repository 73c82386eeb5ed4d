import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { proportion, wilsonInterval } from '../../src/statistics/wilson.ts';

describe("Wilson's interval", () => {
  it.each([
    [27, 36, 1.96, 0.5893, 0.8625],
    [29, 32, 1.96, 0.7578, 0.9676],
    [0, 10, 1.96, 0, 0.2775],
    [10, 10, 1.96, 0.7225, 1],
  ])('of %i out of %i at z = %f runs from %f to %f', (hits, n, z, low, high) => {
    const [lower, upper] = wilsonInterval(hits, n, z);
    expect(lower).toBeCloseTo(low, 4);
    expect(upper).toBeCloseTo(high, 4);
  });

  it('stays in [0, 1], holds the share, and mirrors when hits and misses change places', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(5000), (n, some) => {
        const hits = some % (n + 1);
        const [lower, upper] = wilsonInterval(hits, n);
        const [mirroredLower, mirroredUpper] = wilsonInterval(n - hits, n);
        expect(lower).toBeGreaterThanOrEqual(0);
        expect(upper).toBeLessThanOrEqual(1);
        expect(lower).toBeLessThanOrEqual(hits / n + 1e-12);
        expect(upper).toBeGreaterThanOrEqual(hits / n - 1e-12);
        expect(lower).toBeCloseTo(1 - mirroredUpper, 10);
        expect(upper).toBeCloseTo(1 - mirroredLower, 10);
      }),
    );
  });

  it('is refused for counts that make no sense', () => {
    expect(() => wilsonInterval(1, 0)).toThrow(RangeError);
    expect(() => wilsonInterval(3, 2)).toThrow(RangeError);
  });
});

describe('a proportion', () => {
  it('of nothing has no value and no interval', () => {
    expect(proportion(0, 0)).toEqual({ hits: 0, n: 0, share: null, interval: null });
  });
});
