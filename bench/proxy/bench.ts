import { loadavg } from 'node:os';
import type { Found } from '../found.ts';
import { headline } from '../headline.ts';
import { type BenchOptions, requireOne } from '../options.ts';
import { requireAccounting, requireOpenFiles } from './accounting.ts';
import { startClient } from './client.ts';
import { assignCores, type Cores } from './cores.ts';
import { comparisonsOf, lineUp } from './line-up.ts';
import { openStreams } from './open-streams.ts';
import { startModule, stop } from './processes.ts';
import { type Delay, promptness, SILENCE_MS } from './promptness.ts';
import { delayTable, ratioTable, unitTable } from './report.ts';
import { createSamples } from './samples.ts';
import { bulk, type Effort, FULL, lockStep, pacedStreams, QUICK, shortRuns, warmUp } from './scenarios.ts';
import { findNginx, nginxVersion } from './targets/nginx.ts';
import type { Target } from './targets/target.ts';

/**
 * Those that need all targets at the same time. What is paced comes some time after the bursts, since V8 compiles and collects
 * for a while after them; bulk is last, since it leaves the most behind to be collected.
 */
const SCENARIOS = { 'short-runs': shortRuns, 'lock-step': lockStep, promptness, paced: pacedStreams, bulk } as const;

/** The one that has processes of its own. */
const MEMORY = 'memory';

/**
 * The sidecar beside other proxies in the same windows: all of them on one core, agent and load client on the others. Every
 * body that comes through is compared with what the agent sent.
 */
export async function benchProxy({ quick, only, other }: BenchOptions): Promise<Found> {
  requireOne(only, [...Object.keys(SCENARIOS), MEMORY], (name) => name === only);
  const effort = quick ? QUICK : FULL;
  requireAccounting();
  requireOpenFiles(effort.openStreams);
  const nginx = await findNginx();
  if (nginx === undefined)
    console.log('nginx is not installed, so its rows are missing (Debian: apt-get install nginx-light)');

  const kinds = lineUp({ nginx, streams: effort.openStreams, other });
  const samples = createSamples();
  const delays = createSamples<Delay>();
  const cores = assignCores();
  const agent = await startModule<{ port: number; acknowledgementPort: number }>(
    new URL('agent.ts', import.meta.url),
    [],
    cores.load,
  );
  const client = await startClient(agent.announcement, cores.load);
  const place = { agentPort: agent.announcement.port, cores };
  const copies: Copies[] = [];
  try {
    const processes = only === MEMORY ? 0 : effort.processes;
    for (let round = 0; round < processes; round += 1) {
      const targets = await Promise.all(kinds.map((kind) => kind.start(place)));
      try {
        const field = { targets, agentPort: place.agentPort, client, samples, delays };
        await timed('warm-up', () => warmUp(field, effort));
        for (const [name, scenario] of Object.entries(SCENARIOS)) {
          if (only === undefined || only === name) await timed(name, () => scenario(field, effort));
        }
        copies.push(...(await copiesOf(targets)));
      } finally {
        await Promise.all(targets.map((target) => target.stop()));
      }
    }
    if (only === undefined || only === MEMORY) {
      await timed('memory', () => openStreams(kinds, place, client, samples, effort));
    }
  } finally {
    await Promise.all([client.stop(), stop(agent.child)]);
  }

  const names = kinds.map(({ name }) => name);
  return {
    text: [
      `${headline('proxy')} ${circumstances(cores, nginx, effort)}`,
      ...(only === 'promptness'
        ? []
        : [
            ratioTable(samples, comparisonsOf(names)),
            'The same in units, which say little about another machine:',
            unitTable(samples, names),
          ]),
      ...(only === undefined || only === 'promptness'
        ? [
            `Promptness, in ms: the median and the largest of ${effort.processes * effort.silences}. The agent's silence ends by itself after ${SILENCE_MS} ms.`,
            delayTable(delays, ['direct', ...names]),
          ]
        : []),
      [...Map.groupBy(copies, ({ target }) => target)]
        .map(([target, each]) => `${target} read ${each.reduce((sum, { events }) => sum + events, 0)} events.`)
        .join(' '),
    ].join('\n\n'),
    faults: copies
      .filter(({ droppedBytes }) => droppedBytes > 0)
      .map(
        ({ target, droppedBytes }) =>
          `${target} did not copy ${droppedBytes} bytes, so its figures are of less work than they say. Nothing here is over a bound of the tap: look for what held its copies back.`,
      ),
  };
}

function circumstances(
  cores: Cores,
  nginx: string | undefined,
  { processes, windows, slices, openStreams: streams, openRounds }: Effort,
): string {
  return [
    nginx === undefined ? 'nginx was not installed.' : `nginx ${nginxVersion(nginx)}.`,
    cores.targets === undefined
      ? 'The processes could not be pinned, so targets may have disturbed each other.'
      : `All targets on core ${cores.targets}, agent and load client on core ${cores.load}.`,
    `${processes} processes of each target in turn, each with ${slices.counted} windows of paced streams and ${windows} of every other kind; memory: ${openRounds} processes with ${streams} streams each.`,
    `Load average at the end: ${loadavg()[0]?.toFixed(1)}.`,
  ].join(' ');
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const from = performance.now();
  await work();
  console.log(`${name}: ${((performance.now() - from) / 1000).toFixed(0)} s`);
}

interface Copies {
  readonly target: string;
  readonly events: number;
  readonly droppedBytes: number;
}

/** What each sidecar says that it copied. */
async function copiesOf(targets: readonly Target[]): Promise<readonly Copies[]> {
  const all = await Promise.all(
    targets.map(async ({ name, copied }) => (copied ? [{ target: name, ...(await copied()) }] : [])),
  );
  return all.flat();
}
