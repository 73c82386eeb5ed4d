import { expect, it } from 'vitest';
import { verdictOf, verdictText } from '../../bench/isolation/verdict.ts';

const row = (name: string, low: number, high: number, isClean = true) => ({
  name,
  isClean,
  ratio: { median: (low + high) / 2, low, high, count: 8 },
});

it('holds a ratio to its target only with the whole interval', () => {
  const rows = [row('below', 0.9, 1.25), row('across', 1.2, 1.3), row('above', 1.26, 1.4)];
  expect(verdictOf(rows)).toEqual({ kept: ['below'], missed: ['above'], unresolved: ['across'] });
});

it('concludes nothing from windows in which other processes used the core', () => {
  const rows = [row('below', 0.9, 1, false), row('above', 2, 3, false)];
  expect(verdictOf(rows)).toEqual({ kept: [], missed: [], unresolved: ['below', 'above'] });
});

it('does not know about what was not measured', () => {
  expect(verdictOf([row('nothing', NaN, NaN)]).unresolved).toEqual(['nothing']);
});

it('says what there is to say', () => {
  expect(verdictText({ kept: ['a', 'b'], missed: [], unresolved: ['c'] })).toBe(
    'Within 1.25: a; b. Not resolved against 1.25: c.',
  );
});
