import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Found } from '../found.ts';
import { headline } from '../headline.ts';
import type { BenchOptions } from '../options.ts';
import { startClient } from '../proxy/client.ts';
import { assignCores } from '../proxy/cores.ts';
import type { Load } from '../proxy/plan.ts';
import { startModule, stop } from '../proxy/processes.ts';
import { sidecarTarget } from '../proxy/targets/sidecar.ts';
import type { Target, TargetPlace } from '../proxy/targets/target.ts';
import { ratios, spreadOf } from '../statistics.ts';
import { markdownTable, withSpread } from '../table.ts';
import type { Disturbance, Health, TroubleReply, TroubleRequest, TroubleServers } from './plan.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the ratio may be at most. */
const TARGET_RATIO = 1.25;

/** Two processes side by side, and what is wrong with the first. */
interface Fault {
  readonly name: string;
  readonly judge?: Health;
  readonly collector?: Health;
  /** Conversations that wait for a judge before it is measured: more than are held. */
  readonly fill?: number;
  /** What goes on beside the measured streams. */
  readonly disturbance?: Disturbance;
  /** Only the first is disturbed; otherwise both are, and differ in their services alone. */
  readonly isOneSided?: true;
  /** The bare pipe instead of the sidecar. */
  readonly isPipe?: true;
}

const FAULTS: readonly Fault[] = [
  { name: 'nothing: how far two equal ones come out apart', disturbance: 'conversations' },
  { name: 'the judge never answers', judge: 'silent', disturbance: 'conversations' },
  { name: "the judge's answers have no end", judge: 'endless', disturbance: 'conversations' },
  { name: 'the store is full', judge: 'silent', fill: 1_100, disturbance: 'conversations' },
  { name: 'the collector never answers', collector: 'silent', disturbance: 'conversations' },
  { name: "the collector's answers have no end", collector: 'endless', disturbance: 'conversations' },
  { name: 'exchanges made to break their reader', disturbance: 'poison', isOneSided: true },
  { name: '100 MB of events a second through the same process', disturbance: 'flood', isOneSided: true },
  { name: 'the same through a bare pipe', disturbance: 'flood', isOneSided: true, isPipe: true },
];

/**
 * Latency of streams through a sidecar in trouble and through one that is well, in the same windows. All of them run on one
 * core, and every body is compared with what the agent sent.
 */
export async function benchIsolation({ quick, only }: BenchOptions): Promise<Found> {
  const windows = quick ? 2 : 8;
  const run = { kind: 'paced', events: quick ? 60 : 200, everyMs: 20, deltaLength: 20 } as const;
  const load = { lanes: 20, runsPerLane: 1, run } as const;
  const cores = assignCores();
  const agentModule = new URL('../proxy/agent.ts', import.meta.url);
  const agent = await startModule<{ port: number; acknowledgementPort: number }>(agentModule, [], cores.load);
  const client = await startClient(agent.announcement, cores.load);
  const trouble = await startModule<TroubleServers>(new URL('trouble.ts', import.meta.url), [], cores.load);
  const place = { agentPort: agent.announcement.port, cores };

  const rows: (readonly string[])[] = [];
  const missed: string[] = [];
  try {
    for (const fault of FAULTS.filter(({ name }) => only === undefined || name.includes(only))) {
      const { disturbed, well, megabytesPerSecond } = await measure(fault, windows, load, {
        place,
        servers: trouble.announcement,
        send: client.send,
        ask: (request) => ask(trouble.child, request),
      });
      const ratio = spreadOf(ratios(disturbed, well));
      if (!fault.isPipe && ratio.median > TARGET_RATIO) missed.push(fault.name);
      rows.push([
        fault.name,
        withSpread(ratio, (value) => value.toFixed(2)),
        withSpread(spreadOf(disturbed.map(toMs)), msText),
        withSpread(spreadOf(well.map(toMs)), msText),
        fault.disturbance === 'flood' ? `${megabytesPerSecond.toFixed(0)} MB/s` : '',
      ]);
      console.log(rows.at(-1)?.join('  '));
    }
  } finally {
    await Promise.all([client.stop(), stop(agent.child), stop(trouble.child)]);
  }
  const verdict =
    missed.length === 0 ? `None is above ${TARGET_RATIO}.` : `Above ${TARGET_RATIO}: ${missed.join('; ')}.`;
  return {
    text: [
      `${headline('isolation')} ${windows} windows each. Load average at the end: ${loadavg()[0]?.toFixed(1)}.`,
      markdownTable(['trouble', 'p99, disturbed / well', 'disturbed, ms', 'well, ms', 'flood'], rows),
      verdict,
    ].join('\n\n'),
    faults: [],
  };
}

const toMs = (us: number): number => us / 1000;
const msText = (ms: number): string => ms.toFixed(1);

interface Means {
  readonly place: TargetPlace;
  readonly servers: TroubleServers;
  readonly send: (load: Load) => Promise<Readonly<Record<string, { readonly p99Us: number }>>>;
  readonly ask: (request: TroubleRequest) => Promise<number>;
}

/** The 99th percentile of the latency in each window, in µs. */
async function measure(
  fault: Fault,
  windows: number,
  load: Omit<Load, 'targets'>,
  means: Means,
): Promise<{ readonly disturbed: number[]; readonly well: number[]; readonly megabytesPerSecond: number }> {
  const targets = await Promise.all([startTarget('disturbed', fault, means), startTarget('well', {}, means, fault)]);
  const [disturbed, well] = targets;
  const found = { disturbed: [] as number[], well: [] as number[] };
  try {
    await means.send({ ...load, targets, run: { kind: 'burst', events: 200, deltaLength: 20 }, runsPerLane: 10 });
    if (fault.fill !== undefined) await means.ask({ kind: 'fill', port: disturbed.port, count: fault.fill });
    const ports = fault.isOneSided ? [disturbed.port] : [disturbed.port, well.port];
    if (fault.disturbance) await means.ask({ kind: 'begin', disturbance: fault.disturbance, ports });
    const from = performance.now();
    // The first opens the connections, and by its end the tap has had the time to notice that the process runs late.
    for (let window = 0; window <= windows; window += 1) {
      const outcomes = await means.send({ ...load, targets });
      if (window === 0) continue;
      found.disturbed.push(outcomes[disturbed.name]?.p99Us ?? NaN);
      found.well.push(outcomes[well.name]?.p99Us ?? NaN);
    }
    const bytes = fault.disturbance ? await means.ask({ kind: 'end' }) : 0;
    return { ...found, megabytesPerSecond: bytes / 1e3 / (performance.now() - from) };
  } finally {
    await Promise.all(targets.map((target) => target.stop()));
  }
}

/** A target with the judge and the collector that `health` gives it; well, where it gives none. */
async function startTarget(
  name: string,
  health: Pick<Fault, 'judge' | 'collector'>,
  { place, servers }: Means,
  { isPipe }: Pick<Fault, 'isPipe'> = health as Fault,
): Promise<Target> {
  const troublePort = Number(new URL(servers.agent).port);
  if (isPipe) {
    const module = new URL('pipe.ts', import.meta.url);
    const { child, announcement } = await startModule<{ port: number }>(
      module,
      [place.agentPort, troublePort],
      place.cores.targets,
    );
    return { name, port: announcement.port, pid: child.pid ?? 0, stop: () => stop(child) };
  }
  const agents = [
    { name: 'measured', url: `http://127.0.0.1:${place.agentPort}`, match: '/' },
    { name: 'trouble', url: servers.agent, match: '/trouble' },
  ];
  return sidecarTarget(name, ROOT, {
    AGENT_URL: '',
    AGENTS: JSON.stringify(agents),
    METRICS: 'agent_goal_accuracy',
    SAMPLE_RATE: '1',
    CLOSING_IDLE: '10ms',
    TAP_MAX_LOOP_DELAY: '20ms',
    OPENAI_BASE_URL: servers.judges[health.judge ?? 'well'],
    JUDGE_TIMEOUT: '2s',
    JUDGE_RETRIES: '0',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: servers.collectors[health.collector ?? 'well'],
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
    OTEL_BSP_SCHEDULE_DELAY: '500',
  }).start(place);
}

/** @returns how many bytes of trouble went through. */
async function ask(trouble: ChildProcess, request: TroubleRequest): Promise<number> {
  const reply = once(trouble, 'message');
  trouble.send(request);
  const [answer] = (await reply) as [TroubleReply];
  if (answer.kind === 'failed') throw new Error(answer.message);
  return answer.bytes;
}
