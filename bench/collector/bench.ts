import { cpuUsOf } from '../cpu-time.ts';
import type { Found } from '../found.ts';
import { headline } from '../headline.ts';
import type { BenchOptions } from '../options.ts';
import { exponent } from '../statistics.ts';
import { markdownTable } from '../table.ts';
import { WORK, type Work, type WorkKind } from './work.ts';

/** Each size is four times the one before it. */
const PARTS = [16, 4, 1];

/** What is in proportion has 1; a square has 2. Between them lies what the memory of the machine does to large work. */
const MOST_EXPONENT = 1.25;

interface Growth {
  readonly kind: WorkKind;
  /** From the smallest size to the largest. */
  readonly points: readonly { readonly amount: number; readonly us: number }[];
  readonly exponent: number;
}

/** Whether reading and merging take time in proportion to what is read: rates at growing sizes, and how they grow. */
export async function benchCollector({ quick }: BenchOptions): Promise<Found> {
  const rounds = quick ? 2 : 7;
  const growths: Growth[] = [];
  for (const kind of WORK) growths.push(await growthOf(kind, rounds));
  return {
    text: [
      headline('collector'),
      `Each size is four times the one before it. CPU time, the best of ${rounds} rounds in which the sizes take turns. The exponent is the slope of the logarithms: 1 is in proportion, 2 the square; above ${MOST_EXPONENT} the command fails.`,
      markdownTable(
        ['', 'largest', 'thousand a second, by size', 'exponent'],
        growths.map(({ kind, points, exponent: slope }) => [
          kind.name,
          `${points.at(-1)?.amount} ${kind.amountOf}`,
          points.map(({ amount, us }) => ((amount / us) * 1000).toFixed(0)).join(' · '),
          slope.toFixed(2),
        ]),
      ),
    ].join('\n\n'),
    faults: growths
      .filter((growth) => growth.exponent > MOST_EXPONENT)
      .map(
        ({ kind, exponent: slope }) =>
          `${kind.name}: the cost grows with an exponent of ${slope.toFixed(2)}, expected at most ${MOST_EXPONENT}. Profile it at two sizes and look for what grew more than the work did.`,
      ),
  };
}

async function growthOf(kind: WorkKind, rounds: number): Promise<Growth> {
  const works = await Promise.all(PARTS.map((part) => kind.prepare(Math.ceil(kind.largest / part))));
  const best = works.map(() => Infinity);
  // The first round compiles and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, work] of works.entries()) {
      const us = await usOf(work, PARTS[at] ?? 1);
      if (round > 0) best[at] = Math.min(best[at] ?? Infinity, us);
    }
  }
  const points = works.map(({ amount }, at) => ({ amount, us: best[at] ?? NaN }));
  return { kind, points, exponent: exponent(points.map(({ amount, us }) => ({ x: amount, y: us }))) };
}

/** CPU time of one piece of work. Small ones are done several times over, so that all sizes are measured equally long. */
async function usOf(work: Work, times: number): Promise<number> {
  const us = await cpuUsOf(async () => {
    for (let time = 0; time < times; time += 1) await work.run();
  });
  return us / times;
}
