import { coreUs, cpuUs, quiet } from '../proxy/accounting.ts';
import type { Client } from '../proxy/client.ts';
import type { Endpoint, RunPlan } from '../proxy/plan.ts';
import type { Target } from '../proxy/targets/target.ts';
import type { Side } from './comparisons.ts';
import type { Trouble } from './trouble-process.ts';

/** How long a side is measured at a time, and how often. */
export interface Effort {
  /** Pairs of turns that count. */
  readonly pairs: number;
  readonly leadInMs: number;
  readonly measuredMs: number;
}

/** A side and its process. */
export interface Contender {
  readonly side: Side;
  readonly target: Target;
}

/** What the turns need beside the two processes. */
export interface Means {
  readonly client: Client;
  readonly trouble: Trouble;
  /** The agent without anything in front of it. */
  readonly direct: Endpoint;
  /** The core of the contenders; undefined: they are not pinned. */
  readonly core: string | undefined;
}

export interface Turns {
  /** Latencies of each turn in µs; turns of the same place are neighbours in time. */
  readonly disturbed: readonly (readonly number[])[];
  readonly base: readonly (readonly number[])[];
  /** Of streams without a proxy, in each turn: what agent, client and machine make of it by themselves. */
  readonly direct: readonly (readonly number[])[];
  /** Pairs in which other processes used the core, for want of better ones. */
  readonly dirtyPairs: number;
  /** Of the flood, while there was one. */
  readonly floodBytesPerMs: number;
}

const STREAMS = 20;
const EVERY_MS = 20;
/** A word or two, as models emit them. */
const DELTA_LENGTH = 20;

/** Of the core that processes other than the contenders may use in a turn. */
const FOREIGN_SHARE = 0.1;

/**
 * Measures two sides in turns: only one of them has anything to do at a time, and only once all work of the other is done,
 * since they share a core and the one's work would be in the latency of the other. Which one begins changes from pair to pair.
 *
 * While other processes use the core, more pairs are taken, up to twice as many; those count in which they used it least.
 */
export async function takeTurns(disturbed: Contender, base: Contender, effort: Effort, means: Means): Promise<Turns> {
  const taken: Pair[] = [];
  const clean = (): number => taken.filter(({ foreignShare }) => foreignShare <= FOREIGN_SHARE).length;
  while (clean() < effort.pairs && taken.length < 2 * effort.pairs) {
    const isBaseFirst = taken.length % 2 === 1;
    const first = await takeTurn(isBaseFirst ? base : disturbed, [disturbed, base], effort, means);
    const second = await takeTurn(isBaseFirst ? disturbed : base, [disturbed, base], effort, means);
    taken.push({
      disturbed: isBaseFirst ? second : first,
      base: isBaseFirst ? first : second,
      foreignShare: Math.max(first.foreignShare, second.foreignShare),
    });
  }
  const pairs = taken.toSorted((one, other) => one.foreignShare - other.foreignShare).slice(0, effort.pairs);
  const turns = pairs.flatMap((pair) => [pair.disturbed, pair.base]);
  const floods = turns.filter(({ floodBytes }) => floodBytes > 0);
  return {
    disturbed: pairs.map((pair) => pair.disturbed.latenciesUs),
    base: pairs.map((pair) => pair.base.latenciesUs),
    direct: turns.map(({ directUs }) => directUs),
    dirtyPairs: Math.max(0, effort.pairs - clean()),
    floodBytesPerMs: sum(floods.map(({ floodBytes }) => floodBytes)) / sum(floods.map(({ tookMs }) => tookMs)),
  };
}

interface Turn {
  readonly latenciesUs: readonly number[];
  readonly directUs: readonly number[];
  readonly foreignShare: number;
  readonly floodBytes: number;
  readonly tookMs: number;
}

interface Pair {
  readonly disturbed: Turn;
  readonly base: Turn;
  readonly foreignShare: number;
}

async function takeTurn(
  { side, target }: Contender,
  both: readonly Contender[],
  { leadInMs, measuredMs }: Effort,
  { client, trouble, direct, core }: Means,
): Promise<Turn> {
  const pids = both.map(({ target: { pid } }) => pid);
  const events = Math.ceil((leadInMs + measuredMs) / EVERY_MS);
  const run: RunPlan = { kind: 'paced', events, everyMs: EVERY_MS, deltaLength: DELTA_LENGTH };
  const foreign = foreignUs(core, pids);
  const from = performance.now();
  if (side.disturbance) await trouble.begin(side.disturbance, target.port);
  const outcomes = await client.send({ targets: [target, direct], lanes: STREAMS, runsPerLane: 1, run, leadInMs });
  const bytes = side.disturbance ? await trouble.end() : 0;
  const tookMs = performance.now() - from;
  const foreignShare = (foreignUs(core, pids) - foreign) / 1000 / tookMs;
  await quiet(pids);
  return {
    latenciesUs: outcomes[target.name]?.latenciesUs ?? [],
    directUs: outcomes[direct.name]?.latenciesUs ?? [],
    foreignShare,
    floodBytes: side.disturbance === 'flood' ? bytes : 0,
    tookMs,
  };
}

/** CPU time of the core that none of these processes has used. */
const foreignUs = (core: string | undefined, pids: readonly number[]): number =>
  core === undefined ? 0 : coreUs(core) - sum(pids.map(cpuUs));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
