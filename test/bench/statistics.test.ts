import { describe, expect, it } from 'vitest';
import { exponent, pooledRatio, quantile, ratios, spreadOf } from '../../bench/statistics.ts';

describe('quantile', () => {
  it('takes the value in the middle of an odd number of values', () => {
    expect(quantile([9, 1, 5], 0.5)).toBe(5);
  });

  it('lies between the two in the middle of an even number', () => {
    expect(quantile([4, 1, 2, 100], 0.5)).toBe(3);
  });

  it('reaches the lowest and the highest at its ends', () => {
    expect([quantile([3, 1, 2], 0), quantile([3, 1, 2], 1)]).toEqual([1, 3]);
  });

  it('orders numbers as numbers', () => {
    expect(quantile([10, 9, 100], 1)).toBe(100);
  });

  it('is no number when nothing was measured', () => {
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe('spreadOf', () => {
  // The places are those of the tables of the sign test: with 12 values the 3rd and the 10th, at 96.1 %.
  it.each([
    { count: 6, low: 1, high: 6 },
    { count: 8, low: 1, high: 8 },
    { count: 9, low: 2, high: 8 },
    { count: 12, low: 3, high: 10 },
    { count: 20, low: 6, high: 15 },
  ])('of $count values the interval of the median goes from number $low to number $high', ({ count, low, high }) => {
    const values = Array.from({ length: count }, (_, at) => at + 1).toReversed();
    expect(spreadOf(values)).toEqual({ median: (count + 1) / 2, low, high, count });
  });

  it('says the lowest and the highest where so few values reach no 95 %', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3, count: 3 });
  });

  it('of nothing is no number', () => {
    expect(spreadOf([])).toEqual({ median: NaN, low: NaN, high: NaN, count: 0 });
  });
});

describe('ratios', () => {
  it('divides the values of the same window', () => {
    expect(ratios([2, 9, 4], [1, 3, 8])).toEqual([2, 3, 0.5]);
  });

  it('leaves out windows of which one value is missing', () => {
    expect(ratios([2, NaN, 4], [1, 3])).toEqual([2]);
  });
});

describe('pooledRatio', () => {
  /** From 0 to below 1, by a generator whose sequence is the same each time. */
  function sequence(): () => number {
    let state = 1;
    return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  }

  it('divides the quantiles of all values, and not those of each block', () => {
    const { median } = pooledRatio(
      [
        [1, 1, 1],
        [1, 1, 9],
      ],
      [
        [1, 1, 1],
        [1, 1, 3],
      ],
      1,
      sequence(),
    );
    expect(median).toBe(3);
  });

  it('has an interval of no width where all blocks are alike', () => {
    expect(pooledRatio([[4], [4], [4]], [[2], [2], [2]], 0.99, sequence())).toEqual({
      median: 2,
      low: 2,
      high: 2,
      count: 3,
    });
  });

  it('draws the blocks of one moment together, so that what slows both down makes no difference', () => {
    const slowness = [1, 2, 3, 5, 8];
    const [ones, others] = [slowness.map((each) => [3 * each]), slowness.map((each) => [2 * each])];
    expect(pooledRatio(ones, others, 1, sequence())).toMatchObject({ median: 1.5, low: 1.5, high: 1.5 });
  });

  it('is as wide as one block in all of them makes it', () => {
    const ones = [...Array.from({ length: 9 }, () => [1]), [10]];
    const { low, high } = pooledRatio(
      ones,
      Array.from({ length: 10 }, () => [1]),
      1,
      sequence(),
    );
    expect([low, high]).toEqual([1, 10]);
  });
});

describe('exponent', () => {
  const sizes = [100, 400, 1600];

  it('is 1 for what grows in proportion, whatever its factor', () => {
    expect(exponent(sizes.map((x) => ({ x, y: 7 * x })))).toBeCloseTo(1);
  });

  it('is 2 for a square', () => {
    expect(exponent(sizes.map((x) => ({ x, y: x * x })))).toBeCloseTo(2);
  });

  it('is 0 for what does not grow', () => {
    expect(exponent(sizes.map((x) => ({ x, y: 5 })))).toBeCloseTo(0);
  });
});
