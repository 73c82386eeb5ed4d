import { expect, it } from 'vitest';
import { verdictOf, verdictText } from '../../bench/isolation/verdict.ts';

const row = (name: string, low: number, high: number, isClean = true) => ({
  name,
  isClean,
  ratio: { median: (low + high) / 2, low, high, count: 8 },
});

const equal = row('two equal ones', 0.8, 1.25);

it('holds a ratio to its target only with the whole interval', () => {
  const rows = [row('below', 0.9, 1.25), row('across', 1.2, 1.3), row('above', 1.26, 1.4)];
  expect(verdictOf(rows, equal)).toEqual({ kept: ['below'], missed: ['above'], unresolved: ['across'] });
});

it('concludes nothing from windows in which other processes used the core', () => {
  const rows = [row('below', 0.9, 1, false), row('above', 2, 3, false)];
  expect(verdictOf(rows, equal)).toEqual({ kept: [], missed: [], unresolved: ['below', 'above'] });
});

it.each([
  { is: 'unequal', control: row('two equal ones', 1.42, 3.7) },
  { is: 'uncertain', control: row('two equal ones', 0.79, 1.1) },
  { is: 'disturbed by others', control: row('two equal ones', 0.9, 1.1, false) },
  { is: 'not measured', control: undefined },
])('concludes nothing from a run whose two equal ones are $is', ({ control }) => {
  const rows = [row('below', 0.9, 1), row('above', 2, 3)];
  expect(verdictOf(rows, control)).toEqual({ kept: [], missed: [], unresolved: ['below', 'above'] });
});

it('does not know about what was not measured', () => {
  expect(verdictOf([row('nothing', NaN, NaN)], equal).unresolved).toEqual(['nothing']);
});

it('says what there is to say', () => {
  expect(verdictText({ kept: ['a', 'b'], missed: [], unresolved: ['c'] })).toBe(
    'Within 1.25: a; b. Not resolved against 1.25: c.',
  );
});
