import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type IllServer, type Illness, startIllServer } from '../support/ill-server.ts';
import { startJudgeServer } from '../support/judge-server.ts';
import { peakMemory, tellsPeakMemory } from '../support/memory.ts';
import { endlessEvent, hugeEvent, POISONS } from '../support/poison.ts';
import { digestOf, each, receive, type RunRequest } from '../support/receive.ts';
import { flood, runRequest, runStream } from '../support/run-bytes.ts';
import { type ServeProcess, startServe } from '../support/serve.ts';
import { startStreamAgent, type StreamAgent, type StreamAnswer } from '../support/stream-agent.ts';

const MIB = 1024 * 1024;

/** What a heap that has been used once may still grow by, whatever it is used for. */
const HEAP_NOISE_BYTES = 96 * MIB;

/** The default of `tap.max_total`. */
const TAP_TOTAL_BYTES = 64 * MIB;

/** Settings of every sidecar here. Nothing is shed for being late, so that what is asserted depends on no machine's speed. */
const COMMON = {
  AGENT_NAME: 'harbour',
  METRICS: 'agent_goal_accuracy',
  SAMPLE_RATE: '1',
  CLOSING_IDLE: '10ms',
  CLOSING_WAITING: '10ms',
  SHUTDOWN_DELAY: '0s',
};

const UNTRACED = { OTEL_SDK_DISABLED: 'true' };

const threadOf = (path: string): string => new URL(path, 'http://agent').searchParams.get('thread') ?? '';

/** A short run in the thread that the path names. */
const shortRun = (path: string): StreamAnswer => ({
  pieces: runStream(threadOf(path), ['High water ', 'is at ', '14:20.']),
});

const LARGE_RUN_CHARACTERS = 900_000;

/** What is held of threads, and of conversations that wait for a judge. */
const HELD_CHARACTERS = 64 * MIB;

/** A run of {@link LARGE_RUN_CHARACTERS}. */
const largeRun = (path: string): StreamAnswer => ({
  pieces: runStream(
    threadOf(path),
    Array.from({ length: 9 }, () => 'x'.repeat(LARGE_RUN_CHARACTERS / 9)),
  ),
});

/** Posts one run. Returns what arrived and what the agent sent, which is to be the same. */
async function passage(sidecar: ServeProcess, agent: StreamAgent, run: Partial<RunRequest> = {}) {
  const threadId = randomUUID();
  const { id, body } = await receive(sidecar.url, {
    path: `/?thread=${threadId}`,
    body: runRequest(threadId),
    ...run,
  });
  return { arrived: body, sent: agent.sent(id) };
}

/** Posts `count` runs, each in a thread of its own. Returns how many arrived as they were sent. */
async function countWhole(sidecar: ServeProcess, agent: StreamAgent, count: number, atOnce = 16): Promise<number> {
  const connections = new Agent({ keepAlive: true });
  let whole = 0;
  await each(count, atOnce, async () => {
    const { arrived, sent } = await passage(sidecar, agent, { connections });
    if (arrived.sha256 === sent?.sha256) whole += 1;
  });
  connections.destroy();
  return whole;
}

/** The status of each page of the admin listener. */
function adminStatus(sidecar: ServeProcess): Promise<number[]> {
  const statusOf = async (path: string) => (await fetch(`${sidecar.adminUrl}${path}`)).status;
  return Promise.all(['/livez', '/readyz', '/metrics'].map(statusOf));
}

const ANSWERING = [200, 200, 200];

/** Waits until `closings` conversations have ended in a decision; returns closings and decisions then, and the latter by kind. */
async function decisions(sidecar: ServeProcess, closings: number) {
  const metrics = await sidecar.scrape(({ sum }) => sum('agui_eval_conversations_total') >= closings);
  const conversations = (decision: string) => metrics.sum('agui_eval_conversations_total', { decision });
  return {
    closed: metrics.sum('agui_eval_closings_total'),
    decided: metrics.sum('agui_eval_conversations_total'),
    failed: conversations('judge_failed'),
    scored: conversations('scored'),
    scores: metrics.sum('agui_eval_scores_total'),
  };
}

/**
 * Sends the traffic once, and then five times again. Returns by how much the most memory that was ever in use grew in the
 * five: what grows with traffic grows five times as much as in the one, and what only warms up does not.
 */
async function memoryGrowth(sidecar: ServeProcess, traffic: () => Promise<unknown>): Promise<number> {
  const peak = () => (tellsPeakMemory ? peakMemory(sidecar.pid) : 0);
  await traffic();
  const before = await peak();
  for (let time = 0; time < 5; time += 1) await traffic();
  return (await peak()) - before;
}

describe('a judge that is ill', () => {
  let agent: StreamAgent;
  let judge: IllServer;
  let sidecar: ServeProcess;
  let runs = 0;

  beforeAll(async () => {
    agent = await startStreamAgent(shortRun);
    judge = await startIllServer('silent');
    sidecar = await startServe({
      ...COMMON,
      ...UNTRACED,
      AGENT_URL: agent.url,
      OPENAI_BASE_URL: `${judge.url}/v1`,
      JUDGE_TIMEOUT: '300ms',
      JUDGE_RETRIES: '0',
      JUDGE_CONCURRENCY: '12',
    });
  });
  afterAll(async () => {
    for (const part of [sidecar, judge, agent]) await part[Symbol.asyncDispose]();
  });

  it.each<Illness>(['silent', 'stuck', 'garbage', 'deep', 'unavailable', 'reset'])(
    '(%s) costs its own answers and nothing else',
    async (illness) => {
      judge.suffer(illness);
      expect(await countWhole(sidecar, agent, 12)).toBe(12);
      expect(await adminStatus(sidecar)).toEqual(ANSWERING);
      runs += 12;
      const all = { closed: runs, decided: runs, failed: runs, scored: 0, scores: 0 };
      expect(await decisions(sidecar, runs)).toEqual(all);
    },
  );

  // The last one here: who sends too much is left alone for half a minute, and conversations wait for that long.
  it('costs no memory that grows when its answers have no end: after the first it is left alone', async () => {
    judge.suffer('endless');
    const growth = await memoryGrowth(sidecar, async () => {
      expect(await countWhole(sidecar, agent, 12)).toBe(12);
    });
    expect(growth).toBeLessThan(HEAP_NOISE_BYTES);
    expect(await decisions(sidecar, runs + 1)).toMatchObject({ scored: 0, scores: 0 });
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
  });
});

describe('a store that is full', () => {
  const settings = (agent: StreamAgent, judge: IllServer) => ({
    ...COMMON,
    ...UNTRACED,
    AGENT_URL: agent.url,
    OPENAI_BASE_URL: `${judge.url}/v1`,
    JUDGE_TIMEOUT: '1h',
    JUDGE_CONCURRENCY: '4',
  });

  it('sheds the oldest jobs of a judge that hangs, and counts them', async () => {
    await using agent = await startStreamAgent(shortRun);
    await using judge = await startIllServer('silent');
    await using sidecar = await startServe(settings(agent, judge));
    const [judged, waiting, shed] = [4, 1000, 50];
    const runs = judged + waiting + shed;
    expect(await countWhole(sidecar, agent, runs)).toBe(runs);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
    const { sum } = await sidecar.scrape((metrics) => metrics.sum('agui_eval_closings_total') === runs);
    expect(sum('agui_eval_in_flight')).toBe(judged);
    expect(sum('agui_eval_queue_length')).toBe(waiting);
    expect(sum('agui_eval_conversations_total', { decision: 'shed' })).toBe(shed);
    expect(sum('agui_eval_conversations_total')).toBe(shed);
  });

  it('sheds large conversations that wait for a judge by their size, and not only by their number', async () => {
    await using agent = await startStreamAgent(largeRun);
    await using judge = await startIllServer('silent');
    await using sidecar = await startServe(settings(agent, judge));
    expect(await countWhole(sidecar, agent, 100, 2)).toBe(100);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
    const { sum } = await sidecar.scrape((metrics) => metrics.sum('agui_eval_closings_total') === 100);
    const waiting = sum('agui_eval_queue_length');
    expect(waiting + sum('agui_eval_in_flight') + sum('agui_eval_conversations_total')).toBe(100);
    expect(waiting * LARGE_RUN_CHARACTERS).toBeLessThanOrEqual(HELD_CHARACTERS);
  });

  it('closes the threads that were silent longest as shed, and lives in a small heap', async () => {
    await using agent = await startStreamAgent(largeRun);
    // Less than what goes through: the process would not outlive it if it held on to that.
    const heapMib = 256;
    const heap = { NODE_OPTIONS: `--max-old-space-size=${heapMib}` };
    const idle = { CLOSING_IDLE: '1h' };
    await using sidecar = await startServe({ ...COMMON, ...UNTRACED, ...idle, ...heap, AGENT_URL: agent.url });
    let runs = 0;
    const growth = await memoryGrowth(sidecar, async () => {
      runs += await countWhole(sidecar, agent, 80, 2);
    });
    expect(runs).toBe(6 * 80);
    expect(growth).toBeLessThan(heapMib * MIB + TAP_TOTAL_BYTES);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
    const { sum } = await sidecar.scrape((metrics) => metrics.sum('agui_stream_exchanges_total') === runs);
    expect(sum('agui_eval_closings_total')).toBeGreaterThan(0);
    expect(sum('agui_eval_conversations_total', { decision: 'shed' })).toBe(sum('agui_eval_closings_total'));
  });
});

describe('a collector that is ill', () => {
  const RUNS = 40;
  let agent: StreamAgent;
  let collector: IllServer;

  beforeAll(async () => {
    agent = await startStreamAgent(shortRun);
    collector = await startIllServer('silent');
  });
  afterAll(async () => {
    for (const part of [collector, agent]) await part[Symbol.asyncDispose]();
  });

  const startTraced = (endpoint: string) =>
    startServe({
      ...COMMON,
      AGENT_URL: agent.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_BSP_MAX_QUEUE_SIZE: '16',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8',
    });

  /** Waits until it is known what became of all spans: two a run. */
  async function spans(sidecar: ServeProcess, runs: number) {
    const { sum } = await sidecar.scrape((metrics) => metrics.sum('agui_otel_spans_total') >= 2 * runs);
    return {
      lost: sum('agui_otel_spans_total', { outcome: 'failed' }) + sum('agui_otel_spans_total', { outcome: 'dropped' }),
      exported: sum('agui_otel_spans_total', { outcome: 'exported' }),
      waiting: sum('agui_otel_queue_length'),
    };
  }

  it('(silent, cutting connections, unavailable) costs its spans and nothing else', async () => {
    await using sidecar = await startTraced(collector.url);
    let runs = 0;
    for (const illness of ['silent', 'reset', 'unavailable'] as const) {
      collector.suffer(illness);
      expect(await countWhole(sidecar, agent, RUNS)).toBe(RUNS);
      expect(await adminStatus(sidecar)).toEqual(ANSWERING);
      runs += RUNS;
      expect(await spans(sidecar, runs)).toEqual({ lost: 2 * runs, exported: 0, waiting: 0 });
    }
    expect(await decisions(sidecar, runs)).toMatchObject({ closed: runs, decided: runs });
  });

  it('(refusing connections) costs its spans and nothing else', async () => {
    await using sidecar = await startTraced(`http://127.0.0.1:${await freePort()}`);
    expect(await countWhole(sidecar, agent, RUNS)).toBe(RUNS);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
    expect(await spans(sidecar, RUNS)).toEqual({ lost: 2 * RUNS, exported: 0, waiting: 0 });
  });

  it('costs no memory that grows, even when its answers have no end', async () => {
    await using sidecar = await startTraced(collector.url);
    collector.suffer('endless');
    const growth = await memoryGrowth(sidecar, () => countWhole(sidecar, agent, RUNS));
    expect(growth).toBeLessThan(HEAP_NOISE_BYTES);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
  });
});

describe('a log that cannot be written', () => {
  let agent: StreamAgent;
  let judge: IllServer;
  beforeAll(async () => {
    agent = await startStreamAgent(shortRun);
    judge = await startIllServer('garbage');
  });
  afterAll(async () => {
    for (const part of [judge, agent]) await part[Symbol.asyncDispose]();
  });

  /** Every judgement fails by both metrics: three lines of the log a run. */
  const settings = () => ({
    ...COMMON,
    METRICS: 'agent_goal_accuracy,topic_adherence',
    REFERENCE_TOPICS: 'tides',
    AGENT_URL: agent.url,
    OPENAI_BASE_URL: `${judge.url}/v1`,
    JUDGE_RETRIES: '0',
  });

  /** Sends `runs` through it and stops it: whatever becomes of its log, it serves and ends in order. */
  async function serveToTheEnd(sidecar: ServeProcess, runs: number) {
    const whole = await countWhole(sidecar, agent, runs);
    const status = await adminStatus(sidecar);
    const { decided } = await decisions(sidecar, runs);
    const linesLost = (await sidecar.scrape(() => true)).sum('agui_log_lines_lost_total');
    sidecar.stderr?.resume();
    sidecar.signal('SIGTERM');
    return { whole, status, decided, isLogLost: linesLost > 0, exit: await sidecar.exited };
  }

  it.skipIf(process.platform !== 'linux')('for want of space is lost and counted, and nothing else is', async () => {
    const full = openSync('/dev/full', 'w');
    const ports = { PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
    // Spans go to standard output, which is as full.
    const env = { ...settings(), ...ports, OTEL_TRACES_EXPORTER: 'console' };
    await using sidecar = await startServe(env, { stdout: full, stderr: full });
    closeSync(full);
    const served = await serveToTheEnd(sidecar, 20);
    expect(served).toEqual({ whole: 20, status: ANSWERING, decided: 20, isLogLost: true, exit: 0 });
  });

  it('since its reader has gone is lost and counted, and nothing else is', async () => {
    await using sidecar = await startServe({ ...settings(), ...UNTRACED });
    sidecar.stderr?.destroy();
    const served = await serveToTheEnd(sidecar, 20);
    expect(served).toEqual({ whole: 20, status: ANSWERING, decided: 20, isLogLost: true, exit: 0 });
  });

  it('since its reader has stopped waits for it, and nothing else does', async () => {
    // Each complaint about the judge, and not one a minute.
    await using sidecar = await startServe({ ...settings(), ...UNTRACED, LOG_LEVEL: 'debug' });
    sidecar.stderr?.pause();
    // Some 0.3 MB of lines: more than the system takes for a reader, and less than is held for it.
    const served = await serveToTheEnd(sidecar, 400);
    expect(served).toEqual({ whole: 400, status: ANSWERING, decided: 400, isLogLost: false, exit: 0 });
    expect(sidecar.log.filter(({ msg }) => msg === 'the judge gave no usable answer')).toHaveLength(2 * 400);
  });
});

describe('an exchange made to break its reader', () => {
  const LARGE: Readonly<Record<string, (threadId: string) => StreamAnswer>> = { hugeEvent, endlessEvent };
  const names = Object.keys(POISONS);
  let runs = 0;
  let agent: StreamAgent;
  let judge: Awaited<ReturnType<typeof startJudgeServer>>;
  let sidecar: ServeProcess;

  beforeAll(async () => {
    agent = await startStreamAgent((path) => {
      const name = new URL(path, 'http://agent').searchParams.get('answer') ?? '';
      return POISONS[name]?.answer(threadOf(path)) ?? LARGE[name]?.(threadOf(path)) ?? shortRun(path);
    });
    judge = await startJudgeServer({
      scripts: {
        goal_and_end_state: { user_goal: 'know when high water is', end_state: 'told so (turn 2)' },
        outcome_comparison: { reason: 'turn 2 tells it', verdict: '1' },
      },
    });
    sidecar = await startServe({ ...COMMON, ...UNTRACED, AGENT_URL: agent.url, OPENAI_BASE_URL: judge.baseUrl });
  });
  afterAll(async () => {
    for (const part of [sidecar, judge, agent]) await part[Symbol.asyncDispose]();
  });

  function poisonedPassage(name: string) {
    runs += 1;
    const threadId = randomUUID();
    const { body, encoding } = POISONS[name]!.request(threadId);
    return passage(sidecar, agent, {
      path: `/?${new URLSearchParams({ thread: threadId, answer: name }).toString()}`,
      body,
      ...(encoding !== undefined && { headers: { 'content-encoding': encoding } }),
    });
  }

  it.each(names)('passes whole: %s', async (name) => {
    const { arrived, sent } = await poisonedPassage(name);
    expect(arrived).toEqual(sent);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
  });

  it('passes whole: one event of 100 MB', async () => {
    runs += 1;
    const { arrived, sent } = await passage(sidecar, agent, { path: '/?answer=hugeEvent' });
    expect(arrived.bytes).toBeGreaterThan(100_000_000);
    expect(arrived).toEqual(sent);
    expect(await adminStatus(sidecar)).toEqual(ANSWERING);
  });

  it('passes as far as its client reads: one event without end', async () => {
    runs += 1;
    const path = '/?answer=endlessEvent';
    const { body } = await receive(sidecar.url, { path, body: runRequest(randomUUID()), leaveAfterBytes: 8 * MIB });
    expect(body).toEqual(await digestOf(endlessEvent().pieces, body.bytes));
    const left = { outcome: 'client_disconnect' };
    const { sum } = await sidecar.scrape((metrics) => metrics.sum('agui_proxy_requests_total', left) > 0);
    expect(sum('agui_proxy_active_streams')).toBe(0);
  });

  it('costs no memory that grows', async () => {
    const growth = await memoryGrowth(sidecar, () => each(names.length, 4, (index) => poisonedPassage(names[index]!)));
    expect(growth).toBeLessThan(HEAP_NOISE_BYTES + TAP_TOTAL_BYTES);
  });

  it('ends in a decision as any other, and leaves the next conversation as it would have been', async () => {
    const before = await decisions(sidecar, runs);
    expect(before).toMatchObject({ closed: runs, decided: runs });
    const { arrived, sent } = await passage(sidecar, agent);
    expect(arrived).toEqual(sent);
    const after = await decisions(sidecar, runs + 1);
    expect(after).toMatchObject({ closed: runs + 1, decided: runs + 1, scored: before.scored + 1 });
    expect(sidecar.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

describe('events as fast as the machine takes them', () => {
  it('pass whole in bounded memory, while probes and metrics answer', async () => {
    await using agent = await startStreamAgent(() => ({ pieces: flood(6 * MIB) }));
    const bounds = { TAP_MAX_EXCHANGE: '256KiB', TAP_MAX_TOTAL: '16MiB' };
    await using sidecar = await startServe({ ...COMMON, ...UNTRACED, ...bounds, AGENT_URL: agent.url });
    let whole = 0;
    const growth = await memoryGrowth(sidecar, async () => {
      const flooding = countWhole(sidecar, agent, 6, 6);
      expect(await adminStatus(sidecar)).toEqual(ANSWERING);
      whole += await flooding;
    });
    expect(whole).toBe(36);
    expect(growth).toBeLessThan(HEAP_NOISE_BYTES + 16 * MIB);
    expect(await decisions(sidecar, 36)).toMatchObject({ closed: 36, decided: 36 });
  });
});

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
