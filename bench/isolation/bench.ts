import { loadavg } from 'node:os';
import type { Found } from '../found.ts';
import { headline } from '../headline.ts';
import { type BenchOptions, requireOne } from '../options.ts';
import { requireAccounting } from '../proxy/accounting.ts';
import { startClient } from '../proxy/client.ts';
import { assignCores } from '../proxy/cores.ts';
import { startModule, stop } from '../proxy/processes.ts';
import type { TargetPlace } from '../proxy/targets/target.ts';
import { quantile, ratios, type Spread, spreadOf } from '../statistics.ts';
import { markdownTable, withSpread } from '../table.ts';
import { type Comparison, COMPARISONS } from './comparisons.ts';
import { startSide } from './sides.ts';
import { startTrouble } from './trouble-process.ts';
import { type Effort, type Means, takeTurns, type Turns } from './turns.ts';
import { TARGET_RATIO, verdictOf, verdictText } from './verdict.ts';

interface Efforts {
  /** Not counted: the code behind the streams is compiled, and the heap finds its size, which takes V8 some seconds of each disturbance. */
  readonly warmUp: Effort;
  readonly usual: Effort;
  /** The tap gives up only when the process was late for two seconds, and it is what comes then that a flood has to be measured by. */
  readonly flood: Effort;
}

const FULL: Efforts = {
  warmUp: { pairs: 1, leadInMs: 250, measuredMs: 12_000 },
  // A silent collector is given up 2.5 s after the first span.
  usual: { pairs: 12, leadInMs: 2500, measuredMs: 5000 },
  flood: { pairs: 6, leadInMs: 2500, measuredMs: 6000 },
};
const QUICK: Efforts = {
  warmUp: { pairs: 1, leadInMs: 250, measuredMs: 500 },
  usual: { pairs: 1, leadInMs: 250, measuredMs: 500 },
  flood: { pairs: 1, leadInMs: 250, measuredMs: 500 },
};

interface Row {
  readonly comparison: Comparison;
  /** Of the 99th percentiles of the turns of each pair. */
  readonly ratio: Spread;
  /** Of the 99th percentile of all turns together: what comes in fewer than half of them shows only here. */
  readonly pooledRatio: number;
  /** 99th percentile of each turn, in µs. */
  readonly p99sUs: Readonly<Record<'disturbed' | 'base' | 'direct', readonly number[]>>;
  readonly turns: Turns;
}

/**
 * Latency of streams through a sidecar in trouble and through one that is well, in turns on one core. Every body is compared
 * with what the agent sent.
 */
export async function benchIsolation({ quick, only }: BenchOptions): Promise<Found> {
  requireOne(
    only,
    COMPARISONS.map(({ name }) => name),
    (name) => name.includes(only ?? ''),
  );
  requireAccounting();
  const efforts = quick ? QUICK : FULL;
  const cores = assignCores();
  const agentModule = new URL('../proxy/agent.ts', import.meta.url);
  const agent = await startModule<{ port: number; acknowledgementPort: number }>(agentModule, [], cores.load);
  const { port: agentPort } = agent.announcement;
  const client = await startClient(agent.announcement, cores.load);
  const trouble = await startTrouble(cores.load);
  const means = { client, trouble, direct: { name: 'direct', port: agentPort }, core: cores.targets };

  const rows: Row[] = [];
  try {
    for (const comparison of COMPARISONS.filter(({ name }) => only === undefined || name.includes(only))) {
      const turns = await compare(comparison, efforts, { agentPort, cores }, means);
      const row = rowOf(comparison, turns);
      rows.push(row);
      console.log(cellsOf(row).join('  '));
    }
  } finally {
    await Promise.all([client.stop(), trouble.stop(), stop(agent.child)]);
  }
  return report(rows, efforts);
}

async function compare(
  { disturbed, base }: Comparison,
  efforts: Efforts,
  place: TargetPlace,
  means: Means,
): Promise<Turns> {
  const { client, trouble } = means;
  const started = await Promise.all([
    startSide('disturbed', disturbed, place, trouble.servers),
    startSide('base', base, place, trouble.servers),
  ]);
  const [one, other] = [
    { side: disturbed, target: started[0] },
    { side: base, target: started[1] },
  ] as const;
  try {
    const warmUp = { kind: 'burst', events: 200, deltaLength: 20 } as const;
    await client.send({ targets: started, lanes: 20, runsPerLane: 10, run: warmUp });
    for (const { side, target } of [one, other]) {
      if (side.fill !== undefined) await trouble.fill(target.port, side.fill);
    }
    await takeTurns(one, other, efforts.warmUp, means);
    return await takeTurns(one, other, disturbed.disturbance === 'flood' ? efforts.flood : efforts.usual, means);
  } finally {
    await Promise.all(started.map((target) => target.stop()));
  }
}

const p99 = (latenciesUs: readonly number[]): number => quantile(latenciesUs, 0.99);

function rowOf(comparison: Comparison, turns: Turns): Row {
  const { disturbed, base, direct } = turns;
  const p99sUs = { disturbed: disturbed.map(p99), base: base.map(p99), direct: direct.map(p99) };
  return {
    comparison,
    ratio: spreadOf(ratios(p99sUs.disturbed, p99sUs.base)),
    pooledRatio: p99(disturbed.flat()) / p99(base.flat()),
    p99sUs,
    turns,
  };
}

function cellsOf({ comparison, ratio, pooledRatio, p99sUs, turns }: Row): readonly string[] {
  const ms = (us: readonly number[]): string => (quantile(us, 0.5) / 1000).toFixed(1);
  return [
    comparison.name,
    withSpread(ratio, (value) => value.toFixed(2)),
    pooledRatio.toFixed(2),
    ms(p99sUs.disturbed),
    ms(p99sUs.base),
    ms(p99sUs.direct),
    Number.isNaN(turns.floodBytesPerMs) ? '' : `${(turns.floodBytesPerMs / 1e3).toFixed(0)} MB/s`,
  ];
}

const COLUMNS = ['trouble', 'p99, ratio', 'of all turns', 'p99, ms', 'of the other, ms', 'without proxy, ms', 'flood'];

function report(rows: readonly Row[], { usual, flood }: Efforts): Found {
  const judged = ({ comparison, ratio, turns }: Row) => ({
    name: comparison.name,
    ratio,
    isClean: turns.dirtyPairs === 0,
  });
  const control = rows.find(({ comparison }) => comparison.isControl);
  const verdict = verdictOf(
    rows.filter(({ comparison }) => !comparison.isControl && !comparison.isForComparison).map(judged),
    control && judged(control),
  );
  const dirty = rows.filter(({ turns }) => turns.dirtyPairs > 0);
  return {
    text: [
      `${headline('isolation')} ${usual.pairs} pairs of turns of ${usual.measuredMs / 1000} s, of floods ${flood.pairs} of ${flood.measuredMs / 1000} s. Load average at the end: ${loadavg()[0]?.toFixed(1)}.`,
      markdownTable(COLUMNS, rows.map(cellsOf)),
      verdictText(verdict),
      ...(dirty.length === 0
        ? []
        : [
            `Other processes were on the core of the proxies, too: ${dirty.map(({ comparison }) => comparison.name).join('; ')}.`,
          ]),
    ].join('\n\n'),
    faults: [],
    missed: verdict.missed.map(
      (name) => `isolation: "${name}" is above ${TARGET_RATIO} with its whole interval. Its row says by how much.`,
    ),
  };
}
