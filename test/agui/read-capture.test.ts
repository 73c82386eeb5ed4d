import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import { BOUNDS, captureOf } from './captures.ts';
import { runFinished, runStarted } from './reference-client.ts';
import {
  byteByByte,
  call,
  callStart,
  cutAtRandom,
  encodeFrames,
  encodeSse,
  result,
  say,
  snapshot,
  text,
  textStart,
} from './streams.ts';

// How much fits into a turn is a matter of time; here each step is followed by one.
vi.mock('../../src/lib/turn.ts', async () => {
  const { setImmediate: nextTurn } = await import('node:timers/promises');
  return { giveWay: () => nextTurn() };
});

const EVENTS = [
  runStarted('r1'),
  ...call('c1', '{"a":1}'),
  result('c1', 'four'),
  ...say('m1', 'At four ☁.'),
  runFinished('r1'),
];
const SSE = encodeSse(EVENTS);
const REQUEST = { threadId: 'thread', runId: 'r1', messages: [{ id: 'u1', role: 'user', content: 'Tide?' }] };

const read = (parts: Parameters<typeof captureOf>[0]) => readCapture(captureOf(parts), BOUNDS);

describe('readCapture', () => {
  it.each([
    [{}, 'asked'],
    [{ parentRunId: 'told' }, 'told'],
  ])('takes the parent of a run from the request unless the agent names one: %j', async (told, parentRunId) => {
    const events = [
      { type: 'RUN_STARTED', threadId: 't', runId: 'r', ...told },
      { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
    ];
    const exchange = await readCapture(
      captureOf({
        request: { threadId: 't', runId: 'r', parentRunId: 'asked', messages: [] },
        pieces: events.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)),
      }),
      BOUNDS,
    );
    expect(exchange?.runs).toMatchObject([{ runId: 'r', parentRunId }]);
  });

  it('makes an exchange of request and response', async () => {
    const exchange = await read({ pieces: [SSE], request: REQUEST });
    expect(exchange).toMatchObject({
      kind: 'run',
      agent: 'harbour',
      threadId: 'thread',
      runId: 'r1',
      ending: 'success',
      status: 200,
      resumes: false,
      input: [{ id: 'u1' }],
      output: [{ id: 'c1' }, { id: 'r-c1' }, { id: 'm1', text: 'At four ☁.' }],
      findings: [],
      trace: { traceFlags: 1 },
    });
    expect(exchange?.messages.map(({ id }) => id)).toEqual(['u1', 'c1', 'r-c1', 'm1']);
  });

  it('reads the same wherever the copy of a body is cut', async () => {
    const whole = captureOf({
      pieces: [SSE.subarray(0, 30), SSE.subarray(30, 90), SSE.subarray(90)],
      request: REQUEST,
    });
    const expected = await readCapture(whole, BOUNDS);
    const arrivals = [...whole.response!.body];
    for (let at = 0; at <= SSE.length; at += 1) {
      const body = arrivals.flatMap(({ bytes, ...when }) => {
        const cutAt = at - (bytes.byteOffset - SSE.byteOffset);
        const isCut = cutAt > 0 && cutAt < bytes.length;
        return isCut
          ? [
              { ...when, bytes: bytes.subarray(0, cutAt) },
              { ...when, bytes: bytes.subarray(cutAt) },
            ]
          : [{ ...when, bytes }];
      });
      const exchange = await readCapture({ ...whole, response: { ...whole.response!, body } }, BOUNDS);
      expect(exchange).toEqual(expected);
    }
  });

  it('takes times from the arrival of the piece that completed an event', async () => {
    const pieces = EVENTS.map((event) => encodeSse([event]));
    const exchange = await read({ pieces, request: REQUEST });
    expect(exchange?.timing).toEqual({
      startedAt: 1000,
      firstEventAt: 1010,
      firstContentAt: 1020,
      endedAt: 2000,
    });
    expect(exchange?.toolCalls).toEqual([
      { id: 'c1', name: 'tides', startedAt: 1020, endedAt: 1050, state: 'answered' },
    ]);
  });

  it.each([
    ['identity', (bytes: Uint8Array) => bytes],
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['zstd', zstdCompressSync],
    ['gzip, br', (bytes: Uint8Array) => brotliCompressSync(gzipSync(bytes))],
  ])('reads a body in %s, whole and cut anywhere', async (contentEncoding, encode) => {
    const body = encode(SSE);
    const whole = await read({ pieces: [body], contentEncoding, request: REQUEST });
    expect(whole).toMatchObject({ ending: 'success', findings: [] });
    const { timing: _, toolCalls: __, ...expected } = whole ?? {};
    for (const pieces of [byteByByte(body), cutAtRandom(body, 7)]) {
      expect(await read({ pieces, contentEncoding, request: REQUEST })).toMatchObject(expected);
    }
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
  ])('reads a body in %s that broke off as far as it goes', async (contentEncoding, encode) => {
    const events = [runStarted('r1'), ...say('m1', 'x'.repeat(10)), ...say('m2', 'tide '.repeat(20_000))];
    const body = encode(encodeSse(events));
    const exchange = await read({
      pieces: [body.subarray(0, body.length - 4)],
      contentEncoding,
      request: REQUEST,
      overrides: { transport: 'upstream_error' },
    });
    expect(exchange?.ending).toBe('upstream_error');
    expect(exchange?.findings.map(({ code }) => code)).not.toContain('undecodable');
  });

  it.each([
    ['text/event-stream', 'upstream_error', SSE],
    ['text/event-stream', 'client_aborted', SSE],
    ['application/vnd.ag-ui.event+proto', 'upstream_error', encodeFrames(EVENTS)],
    ['application/vnd.ag-ui.event+proto', 'client_aborted', encodeFrames(EVENTS)],
  ] as const)('calls no event of %s wrong that a connection cut: %s', async (contentType, transport, body) => {
    for (let end = 1; end < body.length; end += 1) {
      const exchange = await read({
        pieces: [body.subarray(0, end)],
        contentType,
        request: REQUEST,
        overrides: { transport },
      });
      const codes = exchange?.findings.map(({ code }) => code) ?? [];
      expect(codes.filter((code) => /malformed|undecodable/.test(code))).toEqual([]);
    }
  });

  it.each([
    ['an unknown coding', 'snappy', SSE],
    ['bytes that are not of their coding', 'gzip', SSE],
  ])('says so of %s, and calls nothing missing that it could not read', async (_, contentEncoding, body) => {
    const exchange = await read({ pieces: [body], contentEncoding, request: REQUEST });
    expect(exchange?.findings).toEqual([{ code: 'undecodable', at: 0, id: contentEncoding }]);
  });

  it('stops at the bound of a decoded body', async () => {
    const bomb = gzipSync(Buffer.concat([SSE, Buffer.alloc(64 * 1024 * 1024, 0x0a)]));
    const exchange = await read({ pieces: [bomb], contentEncoding: 'gzip', request: REQUEST });
    expect(exchange).toMatchObject({ ending: 'success', findings: [{ code: 'truncated_tap' }] });
  });

  it('stops at the bound of what is held between two codings, and says so', async () => {
    const stored = gzipSync(Buffer.concat([SSE, Buffer.alloc(20 * 1024 * 1024, 0x0a)]), { level: 0 });
    const capture = captureOf({ pieces: [gzipSync(stored)], contentEncoding: 'gzip, gzip', request: REQUEST });
    const exchange = await readCapture(capture, { ...BOUNDS, maxDecodedBytes: 2 ** 30 });
    expect(exchange).toMatchObject({ ending: 'success', findings: [{ code: 'truncated_tap' }] });
  });

  it.each(['gzip', 'gzip, identity'])('takes the same times from a body under %s', async (contentEncoding) => {
    const pieces = EVENTS.map((event) => encodeSse([event]));
    const plain = await read({ pieces, request: REQUEST });
    const exchange = await read({ pieces: pieces.map((piece) => gzipSync(piece)), contentEncoding, request: REQUEST });
    expect(exchange).toMatchObject({ timing: plain?.timing, toolCalls: plain?.toolCalls });
  });

  it('stops at an event that is too large', async () => {
    const events = [runStarted('r1'), ...say('m1', 'One.'), ...say('m2', 'x'.repeat(300_000)), runFinished('r1')];
    for (const [pieces, contentType] of [
      [[encodeSse(events)], 'text/event-stream'],
      [[encodeFrames(events)], 'application/vnd.ag-ui.event+proto'],
    ] as const) {
      const exchange = await read({ pieces, contentType, request: REQUEST });
      expect(exchange?.findings.map(({ code }) => code)).toEqual(['truncated_tap']);
      expect(exchange?.output.map(({ id }) => id)).toEqual(['m1', 'm2']);
    }
  });

  it('does not call a stream truncated by the agent that the tap gave up on', async () => {
    const exchange = await read({
      pieces: [encodeSse([runStarted('r1'), textStart('m1'), text('m1', 'Low')]), Buffer.from('data: {"type":"TEX')],
      request: REQUEST,
      overrides: { truncated: true },
    });
    expect(exchange?.findings.map(({ code }) => code)).toEqual(['truncated_tap']);
    expect(exchange?.output).toMatchObject([{ id: 'm1', text: 'Low', partial: true }]);
  });

  it('reads the binary transport, also with a charset on its type', async () => {
    const exchange = await read({
      pieces: [encodeFrames(EVENTS)],
      contentType: 'application/vnd.ag-ui.event+proto; charset=utf-8',
      request: REQUEST,
    });
    expect(exchange).toMatchObject({ ending: 'success', output: [{ id: 'c1' }, { id: 'r-c1' }, { id: 'm1' }] });
  });

  it.each([
    [{ status: 500, contentType: 'application/json' }, 'http_error'],
    [{ status: 422, contentType: 'application/json', pieces: [Buffer.from('{"detail":[]}')] }, 'http_error'],
    [{ status: 500 }, 'http_error'],
  ])('ends an exchange that the agent refused as %j in %s', async (parts, ending) => {
    const exchange = await read({ ...parts, request: REQUEST });
    expect(exchange).toMatchObject({ ending, status: parts.status, runs: [], output: [], findings: [] });
    expect(exchange?.messages.map(({ id }) => id)).toEqual(['u1']);
  });

  it.each([
    ['client_aborted', 'client_aborted'],
    ['upstream_error', 'upstream_error'],
    ['complete', 'upstream_error'],
  ] as const)('ends an exchange without a response and transport %s in %s', async (transport, ending) => {
    const { response: _, ...capture } = captureOf({ request: REQUEST, overrides: { transport } });
    expect(await readCapture(capture, BOUNDS)).toMatchObject({ ending, findings: [], input: [{ id: 'u1' }] });
  });

  it('is not interested in what is not AG-UI', async () => {
    const completion = Buffer.from('data: {"id":"x","choices":[]}\n\ndata: [DONE]\n\n');
    const chat = { model: 'x', messages: [{ role: 'user', content: 'hi' }] };
    expect(await read({ pieces: [completion], request: chat })).toBeUndefined();
    expect(await read({ status: 500, contentType: 'application/json', request: chat })).toBeUndefined();
    expect(await read({ contentType: 'application/json', request: REQUEST })).toBeUndefined();
    expect(await read({ status: 502, contentType: 'text/html' })).toBeUndefined();
  });

  it('knows a stream of AG-UI by its events when the request does not tell', async () => {
    const exchange = await read({ pieces: [SSE], request: { prompt: 'hi' } });
    expect(exchange).toMatchObject({ kind: 'run', threadId: 'thread', runId: 'r1', input: [] });
    expect(await read({ pieces: [SSE] })).toMatchObject({ threadId: 'thread' });
  });

  it('reads a request that is compressed', async () => {
    const request = {
      contentType: 'application/json',
      contentEncoding: 'gzip',
      body: gzipSync(JSON.stringify(REQUEST)),
    };
    expect(await read({ pieces: [SSE], overrides: { request } })).toMatchObject({ input: [{ id: 'u1' }] });
  });

  it.each([
    ['over the bound', gzipSync(JSON.stringify({ ...REQUEST, state: 'x'.repeat(2 ** 21) })), 'truncated_tap'],
    ['not of its coding', Buffer.from(JSON.stringify(REQUEST)), 'undecodable'],
  ])('says that a request was %s, and reads the stream all the same', async (_, body, code) => {
    const request = { contentType: 'application/json', contentEncoding: 'gzip', body };
    const exchange = await read({ pieces: [SSE], overrides: { request } });
    expect(exchange).toMatchObject({ threadId: 'thread', input: [], findings: [{ code, id: 'request' }] });
  });

  it.each([
    ['/agent/harbour/connect?x=1', REQUEST, 'replay'],
    ['/agent/harbour/suggest', REQUEST, 'auxiliary'],
    ['/agent/harbour/run/', REQUEST, 'run'],
    ['/', { method: 'agent/connect', params: {}, body: REQUEST }, 'replay'],
    ['/', { method: 'agent/run', params: {}, body: REQUEST }, 'run'],
    ['/', { ...REQUEST, forwardedProps: { __proxiedMCPRequest: {} } }, 'auxiliary'],
  ])('calls a request to %s with %j a %s', async (path, request, kind) => {
    const exchange = await read({ pieces: [SSE], request, overrides: { path } });
    expect(exchange).toMatchObject({ kind, threadId: 'thread', input: [{ id: 'u1' }] });
  });

  it('calls a request without messages that brought none a probe, unless it resumes', async () => {
    const empty = { ...REQUEST, messages: [] };
    const silent = encodeSse([runStarted('r1'), runFinished('r1')]);
    expect(await read({ pieces: [silent], request: empty })).toMatchObject({ kind: 'probe' });
    expect(await read({ pieces: [SSE], request: empty })).toMatchObject({ kind: 'run' });
    const resume = [{ interruptId: 'i1', status: 'resolved' }];
    expect(await read({ pieces: [silent], request: { ...empty, resume } })).toMatchObject({
      kind: 'run',
      resumes: true,
    });
  });

  it('raises no interrupts from a replay, and takes its run ids for no mismatch', async () => {
    const outcome = { type: 'interrupt', interrupts: [{ id: 'i1' }] };
    const pieces = [encodeSse([runStarted('old'), runFinished('old', { outcome })])];
    const exchange = await read({ pieces, request: REQUEST, overrides: { path: '/connect' } });
    expect(exchange).toMatchObject({ kind: 'replay', interrupts: [], findings: [], ending: 'interrupt' });
  });

  it('sums usage over runs', async () => {
    const usage = [{ inputTokens: 2, outputTokens: 1 }];
    const pieces = [
      encodeSse([runStarted('a'), runFinished('a', { usage }), runStarted('b'), runFinished('b', { usage })]),
    ];
    expect(await read({ pieces, request: { ...REQUEST, runId: 'a' } })).toMatchObject({
      usage: { inputTokens: 4, outputTokens: 2 },
    });
  });

  describe('lets other work have its turn', () => {
    const many = <T>(count: number, make: (index: number) => T): T[] =>
      Array.from({ length: count }, (_, n) => make(n));
    const history = many(2000, (n) => ({ id: `u${n}`, role: 'user', content: `${n}` }));
    const small = encodeSse([runStarted('r1'), ...many(8000, (n) => say(`m${n}`, 'x')).flat()]);

    it.each([
      ['bytes', small, '', REQUEST, small.length / 4096],
      ['compressed bytes', gzipSync(small), 'gzip', REQUEST, small.length / 4096],
      ['tiny events', Buffer.from('data:\n\n'.repeat(100_000)), '', REQUEST, 100_000 / 600],
      ['small snapshots of a long history', encodeSse(many(100, () => snapshot())), '', { messages: history }, 100],
      ['a run that leaves much open', encodeSse(many(5000, (n) => callStart(`c${n}`))), '', REQUEST, 5000 / 256],
      ['a long history', SSE, '', { messages: many(4, () => history).flat() }, 8000 / 256],
    ])('between %s', async (_, body, contentEncoding, request, expected) => {
      let turns = 0;
      let reading = true;
      const count = (): void => {
        turns += 1;
        if (reading) setImmediate(count);
      };
      setImmediate(count);
      const capture = captureOf({ pieces: [body], contentEncoding, request: { threadId: 'thread', ...request } });
      await readCapture(capture, { ...BOUNDS, maxDecodedBytes: 2 ** 24 });
      reading = false;
      expect(turns).toBeGreaterThanOrEqual(Math.floor(expected));
    });
  });
});
