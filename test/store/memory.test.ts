import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Closing } from '../../src/conversation/threads.ts';
import type { ScoringJob } from '../../src/scoring/scorecard.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { assistant, exchange, user } from '../support/exchanges.ts';
import { virtualClock } from '../support/virtual-clock.ts';

type OnClosing = (closing: Closing, offer: (job: ScoringJob) => unknown) => void;

const threadOf = ({ conversation }: Closing) => conversation.key.threadId;

function setUp({ capacity = 10, onClosing = () => {} }: { capacity?: number; onClosing?: OnClosing } = {}) {
  const clock = virtualClock();
  const closings: Closing[] = [];
  const dropped: [string, string][] = [];
  const store = createMemoryStore({
    threads: { idleMs: 1000, waitingMs: 5000, openRunMs: 60_000, maxThreads: 100, maxCharacters: 1e8 },
    capacity,
    clock,
    events: {
      onClosing(closing) {
        closings.push(closing);
        onClosing(closing, (each) => store.offer(each));
      },
      onDropped: (job, why) => dropped.push([job.id, why]),
    },
  });
  return { clock, closings, dropped, store };
}

/** No limit but the concurrency. */
const admission = () => ({ limit: Infinity });

const job = (id: string): ScoringJob => ({
  id,
  agent: 'harbour',
  threadId: id,
  revision: 1,
  messages: [],
  ending: 'success',
  runs: [],
  probability: 1,
  stratum: 'default',
  cause: 'idle',
  closedAt: 0,
});

const run = (threadId: string) =>
  exchange({ input: [user('u1', 'hi')], output: [assistant('a1', 'hello')], overrides: { threadId } });

/** Work that ends when the test says so. */
function controlledWork() {
  const started: string[] = [];
  const finish = new Map<string, () => void>();
  const work = ({ id }: ScoringJob, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      started.push(id);
      finish.set(id, resolve);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const end = async (id: string) => {
    finish.get(id)?.();
    await turn();
  };
  return { started, work, end };
}

describe('threads', () => {
  it('closes each thread when it has been idle, on the clock', async () => {
    const { clock, closings, store } = setUp();
    await store.append(run('t1'));
    clock.advance(600);
    await store.append(run('t2'));
    clock.advance(400);
    expect(closings.map(({ conversation }) => conversation.key.threadId)).toEqual(['t1']);
    clock.advance(600);
    expect(closings).toHaveLength(2);
    expect(store.stats().openThreads).toBe(0);
  });
});

describe('a conversation so long that it is merged in steps', () => {
  const LONG = 20_000;
  const long = (runId: string) =>
    exchange({
      input: Array.from({ length: LONG }, (_, at) => user(`q${at}`, `question ${at}`)),
      output: [assistant('a', 'hello')],
      overrides: { threadId: 't1', runId },
    });
  const next = exchange({
    input: [user('next', 'and now?')],
    output: [assistant('next-a', 'still')],
    overrides: { threadId: 't1', runId: 'r2' },
  });

  it('takes its exchanges in the order in which they came', async () => {
    const { closings, store } = setUp();
    const kinds = await Promise.all([long('r1'), next, long('r1')].map((each) => store.append(each)));
    expect(kinds).toEqual(['appended', 'delta', 'replayed']);
    await store.close(0);
    expect(closings.map(({ conversation }) => conversation.runs.map(({ runId }) => runId))).toEqual([['r1', 'r2']]);
    expect(closings[0]?.conversation.messages).toHaveLength(LONG + 3);
  });

  it('does not close before what came is part of it', async () => {
    const { clock, closings, store } = setUp();
    await store.append(run('t1'));
    clock.advance(999);
    const appended = store.append(long('r1'));
    clock.advance(2);
    await appended;
    expect(closings).toEqual([]);
    clock.advance(1000);
    expect(closings).toMatchObject([{ cause: 'idle', revision: 1 }]);
    expect(closings[0]?.conversation.runs).toHaveLength(2);
  });

  it('closes others that fell due meanwhile', async () => {
    const { clock, closings, store } = setUp();
    await store.append(run('t2'));
    clock.advance(500);
    await store.append(run('t1'));
    const appended = store.append(long('r1'));
    clock.advance(500);
    await appended;
    clock.advance(0);
    expect(closings.map(threadOf)).toEqual(['t2']);
  });

  it('is known to have a gap when a run was missed meanwhile', async () => {
    const { closings, store } = setUp();
    await store.append(run('t1'));
    await Promise.all([store.append(long('r1')), store.runMissed('harbour')]);
    await store.close(0);
    expect(closings).toMatchObject([{ conversation: { mayHaveGap: true } }]);
  });

  it.each([0, 10_000])('is whole when the store closes, with %i ms to do it', async (graceMs) => {
    const { clock, closings, dropped, store } = setUp({
      onClosing: (closing, offer) => offer(job(threadOf(closing))),
    });
    store.consume(controlledWork().work, { concurrency: 1, admission });
    await store.append(run('t1'));
    const appended = store.append(long('r1'));
    const closed = store.close(graceMs);
    clock.advance(0);
    expect(await appended).toBe('delta');
    clock.advance(graceMs);
    await closed;
    expect(closings).toMatchObject([{ cause: 'shutdown', conversation: { runs: [{}, { runId: 'r1' }] } }]);
    expect(dropped).toEqual([['t1', 'expired']]);
  });
});

describe('open runs', () => {
  it('hold their thread open until they end', async () => {
    const { clock, closings, store } = setUp();
    const key = { agent: 'harbour', threadId: 't1' };
    await store.append(run('t1'));
    await store.runBegan(key);
    clock.advance(30_000);
    expect(closings).toEqual([]);
    await store.runEnded(key);
    clock.advance(1000);
    expect(closings).toMatchObject([{ cause: 'idle' }]);
  });
});

describe('jobs', () => {
  it('works on as many at a time as it was told, in order', async () => {
    const { store } = setUp();
    const { started, work, end } = controlledWork();
    store.consume(work, { concurrency: 2, admission });
    for (const id of ['a', 'b', 'c']) await store.offer(job(id));
    expect(started).toEqual(['a', 'b']);
    expect(store.stats()).toMatchObject({ queued: 1, inFlight: 2, capacity: 10 });
    await end('a');
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('takes a job once', async () => {
    const { store } = setUp();
    const { work } = controlledWork();
    expect(await store.offer(job('a'))).toBe('queued');
    expect(await store.offer(job('a'))).toBe('duplicate');
    store.consume(work, { concurrency: 1, admission });
    expect(await store.offer(job('a'))).toBe('duplicate');
  });

  it('sheds the oldest job when it is full and says so', async () => {
    const { dropped, store } = setUp({ capacity: 2 });
    for (const id of ['a', 'b', 'c']) await store.offer(job(id));
    expect(dropped).toEqual([['a', 'shed']]);
    expect(store.stats().queued).toBe(2);
  });
});

describe('admission', () => {
  it('keeps jobs waiting while none is admitted, and asks again when it was told to', async () => {
    const { clock, store } = setUp();
    const { started, work, end } = controlledWork();
    const pausedUntil = clock.now() + 30_000;
    const probing = { limit: 1 };
    let now: { limit: number; askAgainAt?: number } = { limit: 0, askAgainAt: pausedUntil };
    store.consume(work, { concurrency: 4, admission: () => now });
    for (const id of ['a', 'b', 'c']) await store.offer(job(id));
    clock.advance(29_999);
    expect(started).toEqual([]);

    now = probing;
    clock.advance(1);
    expect(started).toEqual(['a']);
    await store.offer(job('d'));
    expect(started).toEqual(['a']);

    now = { limit: Infinity };
    await end('a');
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('sheds what waits too long for it, like any other job', async () => {
    const { dropped, store } = setUp({ capacity: 1 });
    store.consume(controlledWork().work, { concurrency: 1, admission: () => ({ limit: 0 }) });
    for (const id of ['a', 'b']) await store.offer(job(id));
    expect(dropped).toEqual([['a', 'shed']]);
  });
});

it('accounts for a job whose work throws, with what it threw', async () => {
  const defect = new Error('broken assumption');
  const causes: unknown[] = [];
  const store = createMemoryStore({
    threads: { idleMs: 1, waitingMs: 1, openRunMs: 1, maxThreads: 1, maxCharacters: 1 },
    capacity: 1,
    clock: virtualClock(),
    events: { onClosing: () => {}, onDropped: (_, why, cause) => causes.push(why, cause) },
  });
  store.consume(() => Promise.reject(defect), { concurrency: 1, admission });
  await store.offer(job('a'));
  await store.close(1000);
  expect(causes).toEqual(['expired', defect]);
});

describe('closing the store', () => {
  it('finishes the jobs that it holds and closes the open threads', async () => {
    const { closings, dropped, store } = setUp();
    const { started, work, end } = controlledWork();
    store.consume(work, { concurrency: 1, admission });
    await store.append(run('t1'));
    await store.offer(job('a'));
    await store.offer(job('b'));
    const closed = store.close(10_000);
    await end('a');
    await end('b');
    await closed;
    expect(started).toEqual(['a', 'b']);
    expect(dropped).toEqual([]);
    expect(closings.map(({ cause }) => cause)).toEqual(['shutdown']);
  });

  it('aborts what is left at the deadline and accounts for it', async () => {
    const { clock, dropped, store } = setUp();
    const { work } = controlledWork();
    store.consume(work, { concurrency: 1, admission });
    await store.offer(job('a'));
    await store.offer(job('b'));
    const closed = store.close(10_000);
    clock.advance(10_000);
    await closed;
    expect(dropped.toSorted()).toEqual([
      ['a', 'expired'],
      ['b', 'expired'],
    ]);
  });

  it('waits no longer than a moment for work that does not stop when it is told to, and counts it once', async () => {
    const { clock, dropped, store } = setUp();
    const late = Promise.withResolvers<void>();
    store.consume(() => late.promise, { concurrency: 2, admission });
    for (const id of ['a', 'b', 'c']) await store.offer(job(id));
    const closed = store.close(10_000);
    clock.advance(10_000);
    await turn();
    expect(dropped).toEqual([['c', 'expired']]);
    clock.advance(1000);
    await closed;
    late.reject(new Error('stopped at last'));
    await turn();

    expect(dropped).toEqual([
      ['c', 'expired'],
      ['a', 'expired'],
      ['b', 'expired'],
    ]);
    expect(store.stats()).toMatchObject({ queued: 0, inFlight: 0 });
  });

  it('calls what a stop adds beyond its capacity expired, not shed', async () => {
    const { clock, store, dropped } = setUp({
      capacity: 1,
      onClosing: (closing, offer) => offer(job(threadOf(closing))),
    });
    store.consume(controlledWork().work, { concurrency: 1, admission });
    for (const id of ['t1', 't2', 't3']) await store.append(run(id));
    const closed = store.close(10_000);
    expect(dropped).toEqual([['t2', 'expired']]);
    clock.advance(10_000);
    await closed;
    expect(dropped.toSorted()).toEqual([
      ['t1', 'expired'],
      ['t2', 'expired'],
      ['t3', 'expired'],
    ]);
  });

  it('accounts for jobs that nobody works on', async () => {
    const { dropped, store } = setUp();
    await store.offer(job('a'));
    await store.close(10_000);
    await store.close(10_000);
    expect(dropped).toEqual([['a', 'expired']]);
  });
});
