import { describe, expect, it } from 'vitest';
import type { Capture } from '../src/agui/capture.ts';
import type { Exchange } from '../src/agui/exchange.ts';
import { isPartlySeen } from '../src/conversation/completion.ts';
import type { MergeKind } from '../src/conversation/merge-runs.ts';
import type { Closing } from '../src/conversation/threads.ts';
import { createGathering } from '../src/lib/gathering.ts';
import { createObserver, type ObserverOptions } from '../src/observation.ts';
import type { ProxiedRequest } from '../src/proxy/observer.ts';
import { createMemoryStore } from '../src/store/memory.ts';
import { BOUNDS, captureOf } from './agui/captures.ts';
import { virtualClock } from './support/virtual-clock.ts';
import { sampleEnd, sampleRequest } from './telemetry/samples.ts';

const IDLE_MS = 1_000;

function setUp(changes: Partial<ObserverOptions> = {}) {
  const clock = virtualClock();
  const closings: Closing[] = [];
  const told: string[] = [];
  const logged: string[] = [];
  const exchanges: Exchange[] = [];
  const store = createMemoryStore({
    threads: { idleMs: IDLE_MS, waitingMs: IDLE_MS, openRunMs: 60_000, maxThreads: 100, maxCharacters: 1e6 },
    capacity: 10,
    clock,
    events: { onClosing: (closing) => closings.push(closing), onDropped: () => expect.unreachable() },
  });
  let active = 0;
  let leftOut = 0;
  const observer = createObserver({
    runSpans: {
      start: () => ({
        trace: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 },
        end: (_end, exchange) => told.push(`span of ${exchange?.kind ?? 'no exchange'}`),
      }),
    },
    prometheus: {
      requestStarted: () => (active += 1),
      requestClosed: () => (active -= 1),
      requestEnded: () => {},
      recordExchange: (exchange) => exchanges.push(exchange),
      recordLeftOut: () => (leftOut += 1),
    },
    store,
    bounds: BOUNDS,
    share: 1,
    gathering: createGathering({ delayMs: 0, most: 1, mostWeight: 1, clock }),
    log: { error: (_fields: unknown, message?: string) => logged.push(message ?? '') },
    ...changes,
  });
  return { clock, closings, told, logged, exchanges, store, observer, active: () => active, leftOut: () => leftOut };
}

type Bench = ReturnType<typeof setUp>;

const said = (text: string) => [{ id: `u-${text}`, role: 'user', content: text }];

function input(threadId: string, runId: string, text = 'hi') {
  return { threadId, runId, messages: said(text), tools: [], context: [] };
}

function sse(...events: readonly object[]): Buffer {
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

function answer(threadId: string, runId: string): Buffer {
  return sse(
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'TEXT_MESSAGE_START', messageId: `a-${runId}`, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: `a-${runId}`, delta: 'hello' },
    { type: 'TEXT_MESSAGE_END', messageId: `a-${runId}` },
    { type: 'RUN_FINISHED', threadId, runId },
  );
}

const bytes = (body: unknown): Uint8Array => Buffer.from(JSON.stringify(body));

/** One exchange from its beginning to its end, up to where it is handed over. */
function pass(
  { observer }: Bench,
  { request = {}, body, stream }: { request?: Partial<ProxiedRequest>; body: object; stream: Buffer },
) {
  const proxied = sampleRequest(request);
  const observation = observer.observe(proxied);
  observation.requested?.(bytes(body));
  const capture = captureOf({ request: body, pieces: [stream], overrides: { path: proxied.agentPath } });
  return observation.finished(sampleEnd(), capture);
}

describe('a request', () => {
  it('that was a run is spanned, counted, and merged into its thread', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1', 'one'), stream: answer('t', 'r1') });
    await pass(bench, { body: input('t', 'r2', 'two'), stream: answer('t', 'r2') });

    expect(bench.told).toEqual(['span of run', 'span of run']);
    expect(bench.exchanges.map(({ kind, runId }) => [kind, runId])).toEqual([
      ['run', 'r1'],
      ['run', 'r2'],
    ]);
    bench.clock.advance(IDLE_MS);
    expect(bench.closings.map(({ conversation }) => conversation.runs.map(({ runId }) => runId))).toEqual([
      ['r1', 'r2'],
    ]);
    expect(bench.logged).toEqual([]);
  });

  it('that brought a run again is counted as a replay', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });

    expect(bench.exchanges.map(({ kind }) => kind)).toEqual(['run', 'replay']);
  });

  it('in which nobody named a thread is a conversation of its own', async () => {
    const bench = setUp();
    const stream = sse(
      { type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: 'hello' },
      { type: 'TEXT_MESSAGE_END', messageId: 'a' },
    );
    await pass(bench, { body: { messages: said('one') }, stream });
    await pass(bench, { body: { messages: said('two') }, stream });
    bench.clock.advance(IDLE_MS);

    const threads = bench.closings.map(({ conversation }) => conversation.key.threadId);
    expect(new Set(threads).size).toBe(2);
    expect(threads).not.toContain('');
  });

  it('that brought no capture is counted all the same', async () => {
    const bench = setUp();
    const observation = bench.observer.observe(sampleRequest());
    expect(bench.active()).toBe(1);
    await observation.finished(sampleEnd());

    expect(bench.active()).toBe(0);
    expect(bench.told).toEqual(['span of no exchange']);
    expect(bench.exchanges).toEqual([]);
  });
});

describe('a thread', () => {
  /** A thread with one run, and a request in it that began and did not end: does the thread close while it is quiet? */
  async function closesDuring(request: Partial<ProxiedRequest>, body: object): Promise<boolean> {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    bench.observer.observe(sampleRequest(request)).requested?.(bytes(body));
    await bench.observer.settled();
    bench.clock.advance(10 * IDLE_MS);
    return bench.closings.length > 0;
  }

  it('does not close while a run of it is under way, and does after its end', async () => {
    expect(await closesDuring({}, input('t', 'r2'))).toBe(false);
    expect(await closesDuring({}, { threadId: 't', messages: [], resume: [{ interruptId: 'i' }] })).toBe(false);

    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    bench.clock.advance(IDLE_MS);
    expect(bench.closings).toHaveLength(1);
  });

  it.each<[string, Partial<ProxiedRequest>, object]>([
    ['a connect', { agentPath: '/connect' }, input('t', 'r2')],
    ['a connect in an envelope', {}, { method: 'agent/connect', body: input('t', 'r2') }],
    ['a request for suggestions', { agentPath: '/suggest?x=1' }, input('t', 'r2')],
    ['a probe', {}, { threadId: 't', runId: 'r2', messages: [] }],
    ['a proxied call', {}, { ...input('t', 'r2'), forwardedProps: { __proxiedMCPRequest: {} } }],
    ['a request under an encoding', { headers: { 'content-encoding': 'gzip' } }, input('t', 'r2')],
    ['a run of another thread', {}, input('other', 'r2')],
    ['a run of another tenant', { tenant: 'acme' }, input('t', 'r2')],
  ])('is not kept open by %s', async (_name, request, body) => {
    expect(await closesDuring(request, body)).toBe(true);
  });

  it('is not given up while its run sends something, however long that takes', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    const observation = bench.observer.observe(sampleRequest());
    observation.requested?.(bytes(input('t', 'r2')));
    for (let minute = 0; minute < 5; minute += 1) {
      bench.clock.advance(59_000);
      observation.streaming?.();
      await bench.observer.settled();
    }
    expect(bench.closings).toEqual([]);
    bench.clock.advance(60_000);
    expect(bench.closings.map(({ cause }) => cause)).toEqual(['open_run']);
  });

  it('is known by the beginning of a request that was too large, and not taken for whole', async () => {
    const bench = setUp();
    const { request, ...rest } = captureOf({ request: input('t', 'r1'), pieces: [] });
    const { body = new Uint8Array(), ...head } = request;
    const large = { ...rest, request: { ...head, head: body.subarray(0, 40) }, truncated: true };
    await bench.observer.observe(sampleRequest()).finished(sampleEnd(), large);
    await pass(bench, { body: input('other', 'r1'), stream: answer('other', 'r1') });
    bench.clock.advance(IDLE_MS);

    expect(bench.closings.map(({ conversation }) => [conversation.key.threadId, isPartlySeen(conversation)])).toEqual([
      ['t', true],
      ['other', false],
    ]);
  });

  it('loses nothing by a large request that was refused', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    const { request, ...rest } = captureOf({ pieces: [] });
    const refused = { ...rest, request: { contentType: request.contentType, contentEncoding: '' }, truncated: true };
    await bench.observer.observe(sampleRequest()).finished(sampleEnd({ status: 413 }), refused);
    bench.clock.advance(IDLE_MS);

    expect(bench.closings.map(({ conversation }) => isPartlySeen(conversation))).toEqual([false]);
  });

  it('is not taken for whole when a run went by of which nothing was copied', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    const { response, ...rest } = captureOf({ pieces: [] });
    const unseen = { ...rest, ...(response && { response }), request: { ...rest.request }, truncated: true };
    delete (unseen.request as { body?: Uint8Array }).body;
    await bench.observer.observe(sampleRequest()).finished(sampleEnd(), unseen);
    bench.clock.advance(IDLE_MS);

    expect(bench.closings.map(({ conversation }) => isPartlySeen(conversation))).toEqual([true]);
  });

  it('is let go when its run ends without an exchange', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    const observation = bench.observer.observe(sampleRequest());
    observation.requested?.(bytes(input('t', 'r2')));
    await observation.finished(sampleEnd());
    bench.clock.advance(IDLE_MS);

    expect(bench.closings).toHaveLength(1);
  });
});

describe('a share of threads', () => {
  const threads = Array.from({ length: 400 }, (_, index) => `thread-${index}`);

  function wanted(share: number, threadId: string, request: Partial<ProxiedRequest> = {}): boolean | undefined {
    const observation = setUp({ share }).observer.observe(sampleRequest(request));
    observation.requested?.(bytes(input(threadId, 'r')));
    return observation.wantsCopy?.();
  }

  it('of 1 asks nothing', () => {
    expect(setUp({ share: 1 }).observer.observe(sampleRequest())).not.toHaveProperty('wantsCopy');
  });

  it('takes every run of a thread or none, and about so many threads', () => {
    const chosen = threads.filter((threadId) => wanted(0.5, threadId));

    // Fixed by the hash: four standard deviations of a fair draw are 40.
    expect(Math.abs(chosen.length - 200)).toBeLessThan(40);
    expect(threads.filter((threadId) => wanted(0.5, threadId))).toEqual(chosen);
    expect(chosen.every((threadId) => wanted(0.6, threadId))).toBe(true);
  });

  it('chooses for each agent and tenant anew', () => {
    const chosen = threads.map((threadId) => wanted(0.5, threadId));

    expect(threads.map((threadId) => wanted(0.5, threadId, { agent: 'other' }))).not.toEqual(chosen);
    expect(threads.map((threadId) => wanted(0.5, threadId, { tenant: 'acme' }))).not.toEqual(chosen);
  });

  it.each<[string, (threadId: string) => object]>([
    ['last', (threadId) => ({ messages: said('hi'), state: { threadId: 'other' }, threadId })],
    ['in snake case', (threadId) => ({ thread_id: threadId, messages: said('hi') })],
    ['in an envelope', (threadId) => ({ method: 'agent/run', body: input(threadId, 'r') })],
  ])('is the same for a thread that is named %s', (_, bodyOf) => {
    for (const threadId of threads.slice(0, 40)) {
      const observation = setUp({ share: 0.5 }).observer.observe(sampleRequest());
      observation.requested?.(bytes(bodyOf(threadId)));
      expect(observation.wantsCopy?.()).toBe(wanted(0.5, threadId));
    }
  });

  it.each<[string, Partial<ProxiedRequest>, number | undefined]>([
    ['a request that could not be looked into', { headers: { 'content-encoding': 'gzip' } }, undefined],
    ['a request that is known by its beginning', {}, 30],
  ])('holds for %s, too', async (_, request, length) => {
    const bench = setUp({ share: 0.5 });
    for (const threadId of threads.slice(0, 40)) {
      const body = { ...input(threadId, 'r'), pad: 'x'.repeat(100) };
      const observation = bench.observer.observe(sampleRequest(request));
      observation.requested?.(bytes(body).subarray(0, length));
      if (!observation.wantsCopy?.()) continue;
      await observation.finished(sampleEnd(), captureOf({ request: body, pieces: [answer(threadId, 'r')] }));
    }
    expect(bench.exchanges.map(({ threadId }) => threadId)).toEqual(
      threads.slice(0, 40).filter((threadId) => wanted(0.5, threadId)),
    );
  });

  it('counts what it leaves out, told by the request or only by the stream', async () => {
    const bench = setUp({ share: 0.5 });
    for (const [index, threadId] of threads.slice(0, 40).entries()) {
      const request = { ...(index % 2 === 0 && { headers: { 'content-encoding': 'gzip' } }) };
      const observation = bench.observer.observe(sampleRequest(request));
      observation.requested?.(bytes(input(threadId, 'r')));
      const capture = captureOf({ request: input(threadId, 'r'), pieces: [answer(threadId, 'r')] });
      await observation.finished(sampleEnd(), observation.wantsCopy?.() ? capture : undefined);
    }
    expect(bench.leftOut() + bench.exchanges.length).toBe(40);
    expect(bench.leftOut()).toBe(threads.slice(0, 40).filter((threadId) => !wanted(0.5, threadId)).length);
  });

  it('leaves out what names no thread', async () => {
    const bench = setUp({ share: 0.999_999 });
    const observation = bench.observer.observe(sampleRequest());
    const body = { messages: said('hi') };
    observation.requested?.(bytes(body));
    await observation.finished(
      sampleEnd(),
      captureOf({ request: body, pieces: [sse({ type: 'CUSTOM', name: 'x', value: 1 })] }),
    );
    expect(bench.exchanges).toEqual([]);
  });
});

describe('what fails', () => {
  const unreadable: Capture = {
    ...captureOf({}),
    get request(): never {
      throw new Error('unreadable');
    },
  };

  it('in reading is logged; the request is counted, and its thread let go', async () => {
    const bench = setUp();
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    const observation = bench.observer.observe(sampleRequest());
    observation.requested?.(bytes(input('t', 'r2')));
    await observation.finished(sampleEnd(), unreadable);

    expect(bench.logged).toEqual(['an exchange could not be read; the stream went on']);
    expect(bench.active()).toBe(0);
    expect(bench.told).toEqual(['span of run', 'span of no exchange']);
    bench.clock.advance(IDLE_MS);
    expect(bench.closings).toHaveLength(1);
  });

  it('in the start of spans raises no gauge that would not fall', () => {
    const start = () => {
      throw new Error('no span');
    };
    const bench = setUp({ runSpans: { start } });

    expect(() => bench.observer.observe(sampleRequest())).toThrow('no span');
    expect(bench.active()).toBe(0);
  });

  it('in the end of spans is logged; the exchange is stored', async () => {
    const trace = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
    const end = () => {
      throw new Error('no span');
    };
    const bench = setUp({ runSpans: { start: () => ({ trace, end }) } });
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });

    expect(bench.logged).toEqual(['the spans of a request could not be ended']);
    expect(bench.active()).toBe(0);
    expect(bench.store.stats().openThreads).toBe(1);
  });

  it('in the store is logged, each time; the request is counted', async () => {
    const fails = () => Promise.reject(new Error('no store'));
    const bench = setUp({
      store: { runBegan: fails, runSeen: fails, runEnded: fails, runMissed: fails, append: fails },
    });
    await pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });

    expect(bench.logged).toEqual(['the beginning of a run could not be stored', 'an exchange could not be recorded']);
    expect(bench.active()).toBe(0);
    expect(bench.told).toEqual(['span of run']);
  });
});

describe('copies that wait to be read together', () => {
  it('are read in the order in which their exchanges ended, when the first has waited its time', async () => {
    const clock = virtualClock();
    const bench = setUp({ gathering: createGathering({ delayMs: 1000, most: 100, mostWeight: Infinity, clock }) });
    const finished = ['r1', 'r2'].map((runId) => pass(bench, { body: input('t', runId), stream: answer('t', runId) }));
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(bench.exchanges).toEqual([]);

    clock.advance(1000);
    for (const each of finished) await each;
    expect(bench.exchanges.map(({ runId }) => runId)).toEqual(['r1', 'r2']);
  });

  it('are due by what they may hold at most: more than they have bytes', async () => {
    const { requestBytes, responseBytes } = sampleEnd();
    const clock = virtualClock();
    const mostWeight = 2 * (2048 + 4 * (requestBytes + responseBytes));
    const bench = setUp({ gathering: createGathering({ delayMs: 1000, most: 100, mostWeight, clock }) });
    const first = pass(bench, { body: input('t1', 'r1'), stream: answer('t1', 'r1') });
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(bench.exchanges).toEqual([]);

    await pass(bench, { body: input('t2', 'r2'), stream: answer('t2', 'r2') });
    await first;
    expect(bench.exchanges).toHaveLength(2);
  });
});

describe('settling', () => {
  it('waits for what was begun, read and stored', async () => {
    const stored = Promise.withResolvers<MergeKind>();
    const bench = setUp({
      store: { ...setUp().store, append: () => stored.promise },
    });
    const finished = pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    let settled = false;
    const settling = bench.observer.settled().then(() => {
      settled = true;
    });
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(false);

    stored.resolve('appended');
    await settling;
    await finished;
    expect(bench.exchanges).toHaveLength(1);
  });

  it('does not wait for more to be read together', async () => {
    const clock = virtualClock();
    const bench = setUp({ gathering: createGathering({ delayMs: 1000, most: 100, mostWeight: Infinity, clock }) });
    const finished = pass(bench, { body: input('t', 'r1'), stream: answer('t', 'r1') });
    expect(bench.active()).toBe(0);
    await bench.observer.settled();
    await finished;
    expect(bench.exchanges).toHaveLength(1);
  });

  it('is immediate when nothing is unfinished', async () => {
    await expect(setUp().observer.settled()).resolves.toBeUndefined();
  });
});
