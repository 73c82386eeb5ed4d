import { quantile } from '../statistics.ts';
import type { BoundedLoad } from './plan.ts';
import { type Field, slices, window } from './window.ts';

/** How much of everything: a run that counts, or one that only shows that all works. */
export interface Effort {
  /** How often all targets are started anew: two processes of the same code can differ by some per cent for as long as they run. */
  readonly processes: number;
  /** Short runs with each target before anything counts, and longer ones. */
  readonly warmUp: { readonly shortRuns: number; readonly longRuns: number };
  /** Windows of each kind but paced streams, with each process, before those that count: the first opens connections, then V8 settles. */
  readonly uncounted: number;
  /** Those that count. */
  readonly windows: number;
  readonly pacedEvents: number;
  /** Windows of paced streams: how long each is, and how many come before those that count. */
  readonly slices: { readonly ms: number; readonly uncounted: number; readonly counted: number };
  /** Runs of silence with each process, of either kind. */
  readonly silences: number;
  readonly openStreams: number;
  readonly openRounds: number;
  /** How long they are held open before their memory is read. */
  readonly holdMs: number;
}

export const FULL: Effort = {
  processes: 4,
  warmUp: { shortRuns: 7000, longRuns: 1200 },
  uncounted: 6,
  windows: 6,
  pacedEvents: 200,
  slices: { ms: 5000, uncounted: 8, counted: 8 },
  silences: 8,
  openStreams: 2000,
  openRounds: 2,
  holdMs: 5000,
};
export const QUICK: Effort = {
  processes: 1,
  warmUp: { shortRuns: 80, longRuns: 40 },
  uncounted: 1,
  windows: 2,
  pacedEvents: 50,
  slices: { ms: 1000, uncounted: 1, counted: 3 },
  silences: 5,
  openStreams: 200,
  openRounds: 1,
  holdMs: 500,
};

const EVERY_MS = 20;
/** A word or two, as models emit them; an event of it has some 150 bytes. */
const DELTA_LENGTH = 20;

/**
 * 20 streams with each target that speak fifty times a second. Runs follow each other and begin and end at moments of their own,
 * as behind a service in use: a target never has all of them at the same point, and never none.
 */
export async function pacedStreams(
  field: Field,
  { pacedEvents, slices: { ms, uncounted, counted: windows } }: Effort,
): Promise<void> {
  const run = { kind: 'paced', events: pacedEvents, everyMs: EVERY_MS, deltaLength: DELTA_LENGTH } as const;
  let slice = 0;
  for await (const shares of slices(field, { lanes: 20, run, leadInMs: pacedEvents * EVERY_MS }, ms)) {
    slice += 1;
    if (slice <= uncounted) continue;
    for (const { name, cpuUs, outcome } of shares) {
      field.samples.add('cpuPerEvent', name, cpuUs / outcome.events);
      field.samples.add('p99', name, quantile(outcome.latenciesUs, 0.99));
    }
    if (slice === uncounted + windows) return;
  }
}

/** POSTs with ten deltas each, one after another on four connections. */
export async function shortRuns(field: Field, effort: Effort): Promise<void> {
  const run = { kind: 'burst', events: 10, deltaLength: DELTA_LENGTH } as const;
  for await (const shares of counted(field, effort, { lanes: 4, runsPerLane: 250, run })) {
    for (const { name, cpuUs, outcome } of shares) field.samples.add('cpuPerRun', name, cpuUs / outcome.runs);
  }
}

/** Streams of 900 KB in events of 64 KB, as fast as they are taken. The tap copies and reads all of it: its bound is 1 MiB. */
export async function bulk(field: Field, effort: Effort): Promise<void> {
  const run = { kind: 'burst', events: 14, deltaLength: 64_000 } as const;
  for await (const shares of counted(field, effort, { lanes: 2, runsPerLane: 30, run })) {
    for (const { name, cpuUs, outcome } of shares) {
      field.samples.add('cpuPerMegabyte', name, cpuUs / 1000 / (outcome.bytes / 1e6));
    }
  }
}

/**
 * One stream at a time of which each event waits for the acknowledgement of the last: what a proxy adds when nothing waits
 * for anything else. The targets take turns, the agent itself among them.
 */
export async function lockStep({ targets, agentPort, client, samples }: Field, { windows }: Effort): Promise<void> {
  const direct = { name: 'direct', port: agentPort };
  const load = {
    lanes: 1,
    runsPerLane: 1,
    run: { kind: 'lock_step', events: 400, deltaLength: DELTA_LENGTH },
  } as const;
  for (let round = 0; round <= windows; round += 1) {
    const p50Us = new Map<string, number>();
    // Another one begins each round.
    const turns = [direct, ...targets];
    for (const target of [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)]) {
      const outcomes = await client.send({ ...load, targets: [target] });
      p50Us.set(target.name, quantile(outcomes[target.name]?.latenciesUs ?? [], 0.5));
    }
    if (round === 0) continue;
    for (const { name } of targets) {
      samples.add('added', name, (p50Us.get(name) ?? NaN) - (p50Us.get(direct.name) ?? NaN));
    }
  }
}

/** Runs under way at once with each target while it warms up. */
const WARM_UP_LANES = 10;
/** One after the other: code that is still cold reads slower than it copies, and what waits must stay within the tap's bounds. */
const WARM_UP_PARTS = 4;

/**
 * Brings all code that a load reaches into the form that it runs in for hours. V8 takes thousands of runs for what is done once a
 * run, and some hundred thousand events for what is done with each: until then the target with the most code looks dearer than
 * it is. One that reads every tenth stream needs ten times as many.
 */
export async function warmUp(field: Field, { warmUp: runsOf }: Effort): Promise<void> {
  for (const [runs, events] of [
    [runsOf.longRuns, 400],
    [runsOf.shortRuns, 10],
  ] as const) {
    const run = { kind: 'burst', events, deltaLength: DELTA_LENGTH } as const;
    const load = { lanes: WARM_UP_LANES, runsPerLane: runs / WARM_UP_LANES / WARM_UP_PARTS, run };
    for (let part = 0; part < WARM_UP_PARTS; part += 1) await window(field, load);
    for (const target of field.targets) {
      const share = target.readShare ?? 1;
      const more = share > 0 ? Math.round(1 / share) - 1 : 0;
      for (let count = 0; count < more * WARM_UP_PARTS; count += 1) {
        await window({ ...field, targets: [target] }, load);
      }
    }
  }
}

/** Windows of one load that count, after those that do not. */
async function* counted(field: Field, { uncounted, windows }: Effort, load: Omit<BoundedLoad, 'targets'>) {
  for (let count = 0; count < uncounted; count += 1) await window(field, load);
  for (let count = 0; count < windows; count += 1) yield await window(field, load);
}
