import { quantile, ratios, spreadOf } from '../statistics.ts';
import { type Delay, DELAYS } from './promptness.ts';
import { markdownTable, withSpread } from '../table.ts';
import { type Figure, FIGURES, type Samples } from './samples.ts';

/** Two targets that are divided by each other. */
export type Comparison = readonly [one: string, other: string];

const COLUMNS = Object.keys(FIGURES) as Figure[];

/** One row a comparison: the median of the ratios inside each window, and its interval. */
export function ratioTable(samples: Samples, comparisons: readonly Comparison[]): string {
  return markdownTable(
    ['', ...COLUMNS.map((figure) => FIGURES[figure].title)],
    comparisons.map(([one, other]) => [
      `${one} / ${other}`,
      ...COLUMNS.map((figure) =>
        withSpread(spreadOf(ratios(samples.of(figure, one), samples.of(figure, other))), ratioText),
      ),
    ]),
  );
}

/** One row a target, in units: figures of this machine, which say little about another. */
export function unitTable(samples: Samples, targets: readonly string[]): string {
  return markdownTable(
    ['', ...COLUMNS.map((figure) => `${FIGURES[figure].title}, ${FIGURES[figure].unit}`)],
    targets.map((name) => [name, ...COLUMNS.map((figure) => withSpread(spreadOf(samples.of(figure, name)), unitText))]),
  );
}

/** One row a target, in ms: the median and the largest. */
export function delayTable(delays: Samples<Delay>, targets: readonly string[]): string {
  const columns = Object.keys(DELAYS) as Delay[];
  return markdownTable(
    ['', ...columns.map((delay) => DELAYS[delay])],
    targets.map((name) => [
      name,
      ...columns.map((delay) => [0.5, 1].map((at) => unitText(quantile(delays.of(delay, name), at))).join(' · ')),
    ]),
  );
}

const ratioText = (value: number): string => value.toFixed(2);
const unitText = (value: number): string => (Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0));
