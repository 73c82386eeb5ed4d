import { execFileSync } from 'node:child_process';
import { Agent } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type IllServer, type Illness, startIllServer } from '../../test/support/ill-server.ts';
import { startJudgeServer } from '../../test/support/judge-server.ts';
import { startOtlpReceiver } from '../../test/support/otlp-receiver.ts';
import { POISONS } from '../../test/support/poison.ts';
import { receive } from '../../test/support/receive.ts';
import { flood, runRequest, runStream } from '../../test/support/run-bytes.ts';
import { startStreamAgent, type StreamAnswer } from '../../test/support/stream-agent.ts';
import type { Disturbance, TroubleReply, TroubleRequest, TroubleServers } from './plan.ts';

/** The process that makes trouble: services, well and ill, an agent whose answers disturb, and the client that asks it. */

// It shares its core with the agent and the client that measure, and what keeps those waiting would be in every latency. Low
// priority is not enough: whoever has the core keeps it for up to 4 ms then, and V8's own threads have another priority.
const CHRT = 'chrt';
try {
  execFileSync(CHRT, ['--all-tasks', '--idle', '--pid', '0', String(process.pid)], { stdio: 'ignore' });
} catch {
  // Not util-linux; the next best.
  setPriority(constants.priority.PRIORITY_LOW);
}

const MIB = 1024 * 1024;
const poisons = Object.keys(POISONS);

function answer(path: string): StreamAnswer {
  const { pathname, searchParams } = new URL(path, 'http://agent');
  const threadId = searchParams.get('thread') ?? '';
  if (pathname.endsWith('/flood')) return { pieces: flood(FLOOD_PIECE_BYTES) };
  const poison = POISONS[searchParams.get('poison') ?? ''];
  return poison?.answer(threadId) ?? { pieces: runStream(threadId, ['High water ', 'is at ', '14:20.']) };
}

/** What one request of the flood brings, and how many are under way at once. */
const FLOOD_PIECE_BYTES = 4 * MIB;
const FLOOD_LANES = 6;

const agent = await startStreamAgent(answer);
const judge = await startJudgeServer({
  scripts: {
    goal_and_end_state: { user_goal: 'know when high water is', end_state: 'told so (turn 2)' },
    outcome_comparison: { reason: 'turn 2 tells it', verdict: '1' },
  },
});
const collector = await startOtlpReceiver();
const ill = new Map<Illness, IllServer>();
for (const illness of ['silent', 'endless', 'garbage'] as const) ill.set(illness, await startIllServer(illness));

let serial = 0;
let bytes = 0;
let stopping = new AbortController();
let underWay: Promise<unknown> = Promise.resolve();

async function post(port: number, path: string, name?: string): Promise<void> {
  const threadId = `trouble-${process.pid}-${(serial += 1)}`;
  const query = new URLSearchParams({ thread: threadId, ...(name !== undefined && { poison: name }) });
  const { body, encoding } = (name !== undefined && POISONS[name]?.request(threadId)) || {
    body: runRequest(threadId),
    encoding: undefined,
  };
  const { id, body: arrived } = await receive(`http://127.0.0.1:${port}`, {
    path: `/trouble${path}?${query.toString()}`,
    body,
    connections,
    ...(encoding !== undefined && { headers: { 'content-encoding': encoding } }),
  });
  if (arrived.sha256 !== agent.sent(id)?.sha256) throw new Error(`A body of ${name ?? path} is not what was sent.`);
  bytes += arrived.bytes;
}

const connections = new Agent({ keepAlive: true });

/** Does one thing over and over, each beginning no sooner than `everyMs` after the last. */
async function repeat(everyMs: number, work: () => Promise<unknown>): Promise<void> {
  const { signal } = stopping;
  while (!signal.aborted) {
    const next = performance.now() + everyMs;
    await work();
    await sleep(Math.max(0, next - performance.now()));
  }
}

/** Ten a second, of either kind: what the poison costs shows beside as many exchanges that are well. */
const CONVERSATION_EVERY_MS = 100;

const DISTURBANCES: Readonly<Record<Disturbance, (port: number) => Promise<unknown>>> = {
  conversations: (port) => repeat(CONVERSATION_EVERY_MS, () => post(port, '/run')),
  poison: (port) => repeat(CONVERSATION_EVERY_MS, () => post(port, '/run', poisons[(serial += 1) % poisons.length])),
  /** 100 MB a second, or as much as the machine gives. */
  flood: (port) =>
    Promise.all(
      Array.from({ length: FLOOD_LANES }, () =>
        repeat((FLOOD_LANES * FLOOD_PIECE_BYTES * 1000) / 100e6, () => post(port, '/flood')),
      ),
    ),
};

async function fill(port: number, count: number): Promise<void> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await post(port, '/run');
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

async function reply(request: TroubleRequest): Promise<TroubleReply> {
  switch (request.kind) {
    case 'fill':
      await fill(request.port, request.count);
      return { kind: 'done', bytes: 0 };
    case 'begin':
      bytes = 0;
      stopping = new AbortController();
      underWay = DISTURBANCES[request.disturbance](request.port);
      underWay.catch(() => {});
      return { kind: 'done', bytes: 0 };
    case 'end':
      stopping.abort();
      await underWay;
      return { kind: 'done', bytes };
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request: TroubleRequest) => {
  void reply(request)
    .catch((error: unknown): TroubleReply => ({ kind: 'failed', message: String(error) }))
    .then((answered) => process.send?.(answered));
});

const urlOf = (illness: Illness): string => ill.get(illness)?.url ?? '';
const collectors = {
  well: collector.url,
  silent: urlOf('silent'),
  endless: urlOf('endless'),
  garbage: urlOf('garbage'),
};
const servers: TroubleServers = {
  agent: agent.url,
  judges: {
    well: judge.baseUrl,
    silent: `${collectors.silent}/v1`,
    endless: `${collectors.endless}/v1`,
    garbage: `${collectors.garbage}/v1`,
  },
  collectors,
};
process.send?.(servers);
