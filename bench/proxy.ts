import { fork, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const VARIANTS = ['pipe', 'tap off', 'tap on'] as const;
type Variant = (typeof VARIANTS)[number];

const WINDOWS = 7;
const STREAMS = 20;
const EVENTS = 200;
const PAUSE_MS = 10;

/** A process under measurement: `target.ts` as the agent or one of the variants. */
interface Target {
  readonly port: number;
  /** User and system time that the process has used so far, in microseconds. */
  cpuUs(): Promise<number>;
  stop(): void;
}

/**
 * CPU per event of the sidecar, with and without the tap, against a bare `node:http` pipe. All three forward the same
 * number of streams at the same time, so whatever else the machine does falls on all of them.
 */
export async function benchProxy(): Promise<void> {
  const agent = await startTarget('agent', String(EVENTS), String(PAUSE_MS));
  const targets = new Map<Variant, Target>();
  for (const variant of VARIANTS) targets.set(variant, await startTarget(variant, String(agent.port)));
  const expected = await hashOf(agent.port, new Agent());

  const perEventUs = new Map<Variant, number[]>(VARIANTS.map((variant) => [variant, []]));
  // The first window warms up and is not counted.
  for (let window = 0; window <= WINDOWS; window += 1) {
    await Promise.all(
      [...targets].map(async ([variant, target]) => {
        const cpuUs = await cpuOfWindow(target, expected);
        if (window > 0) perEventUs.get(variant)?.push(cpuUs / (STREAMS * EVENTS));
      }),
    );
  }
  for (const target of [agent, ...targets.values()]) target.stop();

  console.log(`${WINDOWS} windows of ${STREAMS} streams × ${EVENTS} events, each body verified by its hash.`);
  console.log('CPU per event, as a ratio inside one window: median (lowest – highest)');
  printRatio(perEventUs, 'tap off', 'pipe');
  printRatio(perEventUs, 'tap on', 'pipe');
  printRatio(perEventUs, 'tap on', 'tap off');
  console.log(`For orientation: the pipe took ${median(perEventUs.get('pipe') ?? []).toFixed(1)} µs per event here.`);
}

async function cpuOfWindow(target: Target, expected: string): Promise<number> {
  const connections = new Agent({ keepAlive: true });
  const before = await target.cpuUs();
  const hashes = await Promise.all(Array.from({ length: STREAMS }, () => hashOf(target.port, connections)));
  const after = await target.cpuUs();
  connections.destroy();
  if (hashes.some((hash) => hash !== expected))
    throw new Error('A body that went through differs from the agent`s own.');
  return after - before;
}

async function hashOf(port: number, agent: Agent): Promise<string> {
  const request = get({ host: '127.0.0.1', port, agent });
  const [response] = await once(request, 'response');
  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk);
  return hash.digest('hex');
}

async function startTarget(...args: readonly string[]): Promise<Target> {
  const child = fork(new URL('target.ts', import.meta.url), [...args]);
  const port = await ask(child, 'port');
  return {
    port,
    cpuUs: () => ask(child, 'cpu'),
    stop: () => child.kill(),
  };
}

async function ask(child: ChildProcess, question: 'port' | 'cpu'): Promise<number> {
  for (;;) {
    child.send(question);
    const [answer] = await once(child, 'message');
    if (typeof answer === 'number') return answer;
    await sleep(10);
  }
}

function printRatio(perEventUs: ReadonlyMap<Variant, readonly number[]>, one: Variant, other: Variant): void {
  const base = perEventUs.get(other) ?? [];
  const ratios = (perEventUs.get(one) ?? []).map((us, window) => us / base[window]!).toSorted((a, b) => a - b);
  const [lowest = NaN] = ratios;
  const highest = ratios.at(-1) ?? NaN;
  const label = `sidecar, ${one} / ${other === 'pipe' ? 'bare pipe' : `sidecar, ${other}`}`;
  console.log(`  ${label.padEnd(36)} ${median(ratios).toFixed(2)} (${lowest.toFixed(2)} – ${highest.toFixed(2)})`);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, two) => one - two)[Math.floor(values.length / 2)] ?? NaN;
}
