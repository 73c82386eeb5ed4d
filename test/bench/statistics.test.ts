import { describe, expect, it } from 'vitest';
import { exponent, quantile, ratios, spreadOf } from '../../bench/statistics.ts';

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
