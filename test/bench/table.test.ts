import { expect, it } from 'vitest';
import { createSamples } from '../../bench/proxy/samples.ts';
import { ratioTable, unitTable } from '../../bench/proxy/report.ts';
import { markdownTable, withSpread } from '../../bench/table.ts';

it('lines its columns up, the first to the left', () => {
  expect(
    markdownTable(
      ['', 'µs'],
      [
        ['pipe', '1.0'],
        ['nginx', '10.0'],
      ],
    ),
  ).toBe(['|       |   µs |', '|-------|-----:|', '| pipe  |  1.0 |', '| nginx | 10.0 |'].join('\n'));
});

it.each([
  { count: 0, text: '' },
  { count: 1, text: '2' },
  { count: 3, text: '2 (1–3)' },
])('writes the interval of $count values', ({ count, text }) => {
  expect(withSpread({ median: 2, low: 1, high: 3, count }, String)).toBe(text);
});

it('divides two targets window by window, so that what slows both down makes no difference', () => {
  const samples = createSamples();
  for (const slowness of [1, 2, 3]) {
    samples.add('cpuPerEvent', 'one', 3 * slowness);
    samples.add('cpuPerEvent', 'other', 2 * slowness);
  }
  expect(ratioTable(samples, [['one', 'other']])).toMatch(/\| one \/ other \| +1\.50 \(1\.50–1\.50\) \|/u);
  expect(unitTable(samples, ['one'])).toMatch(/\| one \| +6\.0 \(3\.0–9\.0\) \|/u);
});

it('leaves the cell of what was not measured empty', () => {
  expect(ratioTable(createSamples(), [['one', 'other']])).toMatch(/\| one \/ other \|(?: +\|)+$/u);
});
