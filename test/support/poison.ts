import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { runRequest, runStream, sse } from './run-bytes.ts';
import type { Pieces, StreamAnswer } from './stream-agent.ts';

/** An exchange that was made to break whoever reads it. */
export interface Poison {
  readonly request: (threadId: string) => { readonly body: string | Uint8Array; readonly encoding?: string };
  readonly answer: (threadId: string) => StreamAnswer;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** JSON that is deeper than a stack; smaller than the largest event that is read. */
const DEPTH = 100_000;
const deep = (inner = '1'): string => '['.repeat(DEPTH) + inner + ']'.repeat(DEPTH);

const plainRequest: Poison['request'] = (threadId) => ({ body: runRequest(threadId) });
const plainAnswer: Poison['answer'] = (threadId) => ({ pieces: runStream(threadId, ['High water is at 14:20.']) });

const inAnswer = (pieces: (threadId: string) => Pieces, headers?: StreamAnswer['headers']): Poison => ({
  request: plainRequest,
  answer: (threadId) => ({ pieces: pieces(threadId), ...(headers && { headers }) }),
});
const inRequest = (body: (threadId: string) => string | Uint8Array, encoding?: string): Poison => ({
  request: (threadId) => ({ body: body(threadId), ...(encoding !== undefined && { encoding }) }),
  answer: plainAnswer,
});

/** A whole run that has `events` in its middle. */
function* around(threadId: string, events: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  const [started = '', ...rest] = runStream(threadId, ['High water is at 14:20.']);
  yield started;
  yield* events;
  yield* rest;
}

const middle = (...events: readonly (string | Uint8Array)[]): Poison =>
  inAnswer((threadId) => around(threadId, events));

/** JSON of an event with one member that is given as text. */
const withJson = (type: string, member: string, json: string, rest: object = {}): string =>
  `data: ${JSON.stringify({ type, ...rest }).slice(0, -1)},"${member}":${json}}\n\n`;

function* repeated(piece: Uint8Array, bytes: number): Generator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
}

const EVENT_STREAM = 'text/event-stream';
const letters = (bytes: number): Buffer => Buffer.alloc(bytes, 'x');
const manyEvents = (bytes: number): Buffer => Buffer.alloc(bytes, sse({ type: 'CUSTOM', name: 'tick', value: 1 }));

/** A gibibyte in a few: one gzip stream of very many members, each a mebibyte of the same. */
function gzipBomb(inner: Buffer): Buffer {
  const member = gzipSync(inner);
  return Buffer.alloc(KIB * member.length, member);
}

const brotliBomb = (): Buffer =>
  brotliCompressSync(letters(64 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

/** Bytes that are no UTF-8: a byte order mark inside, a lone surrogate, overlong and unfinished sequences. */
const NO_UTF8 = Buffer.from('efbbbf fffe c0af eda080 f8888080 80 e282 f0'.replaceAll(' ', ''), 'hex');

function* largeEvent(bytes: number): Generator<string | Uint8Array> {
  yield 'data: {"type":"CUSTOM","name":"large","value":"';
  yield* repeated(letters(64 * KIB), bytes);
  yield '"}\n\n';
}

/** A run that has one event of 100 MB. */
export const hugeEvent = (threadId: string): StreamAnswer => ({ pieces: around(threadId, largeEvent(100_000_000)) });

/** A run that is one event without end. */
export const endlessEvent = (): StreamAnswer => ({ pieces: largeEvent(Infinity) });

/** By what is wrong with it. */
export const POISONS: Readonly<Record<string, Poison>> = {
  'bytes that are no UTF-8': middle(
    Buffer.concat([Buffer.from('data: {"type":"CUSTOM","name":"'), NO_UTF8, Buffer.from('","value":1}\n\n'), NO_UTF8]),
    Buffer.concat([Buffer.from('\n\ndata: '), NO_UTF8, Buffer.from('\n\n')]),
  ),
  'JSON deeper than a stack, in every place that holds any': middle(
    withJson('STATE_SNAPSHOT', 'snapshot', deep()),
    withJson('STATE_DELTA', 'delta', deep()),
    withJson('CUSTOM', 'value', deep(), { name: 'on_interrupt' }),
    withJson('RAW', 'event', deep()),
    withJson('MESSAGES_SNAPSHOT', 'messages', `[{"id":"deep","role":"user","content":${deep()}}]`),
    withJson('MESSAGES_SNAPSHOT', 'messages', deep()),
    withJson('ACTIVITY_SNAPSHOT', 'content', deep(), { messageId: 'a', activityType: 'deep' }),
    sse({ type: 'TOOL_CALL_START', toolCallId: 'deep', toolCallName: 'tides' }),
    sse({ type: 'TOOL_CALL_ARGS', toolCallId: 'deep', delta: `{"deep":${deep()}}` }),
    sse({ type: 'TOOL_CALL_END', toolCallId: 'deep' }),
    sse({ type: 'TOOL_CALL_RESULT', toolCallId: 'deep', messageId: 'r', content: deep() }),
    `data: ${deep()}\n\n`,
    withJson('RUN_FINISHED', 'result', deep(), { threadId: 't', runId: 'r' }),
    withJson('RUN_FINISHED', 'outcome', `{"type":"interrupt","interrupts":${deep('{}')}}`, {
      threadId: 't',
      runId: 'r',
    }),
  ),
  'an event that is larger than any that is read': inAnswer((threadId) => around(threadId, largeEvent(8 * MIB))),
  'more events than are read': inAnswer((threadId) => around(threadId, repeated(manyEvents(64 * KIB), 8 * MIB))),
  'events of one byte, written one by one': inAnswer((threadId) =>
    around(threadId, repeated(Buffer.from('data:1\n\n').subarray(0, 1), 4 * KIB)),
  ),
  'an event of very many lines': middle('data: \n'.repeat(30_000), '\n'),
  'lines that end in every way': middle('data: 1\r\rdata: 2\n\r\ndata: 3\r\n\r\n:\r'.repeat(2_000)),
  'a snapshot of more messages than are read': middle(
    sse({
      type: 'MESSAGES_SNAPSHOT',
      messages: Array.from({ length: 5_000 }, (_, at) => ({ id: `m${at}`, role: 'user', content: '?' })),
    }),
  ),
  'ids that name members of every object': middle(
    ...['__proto__', 'constructor', 'toString'].flatMap((id) => [
      sse({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }),
      sse({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: id }),
      sse({ type: 'TEXT_MESSAGE_END', messageId: id }),
      sse({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: id }),
      sse({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta: '{"__proto__":{"polluted":true}}' }),
      sse({ type: 'TOOL_CALL_END', toolCallId: id }),
      sse({ type: id }),
    ]),
  ),
  'a gzip bomb of one event': inAnswer(() => [gzipBomb(letters(MIB))], {
    'content-type': EVENT_STREAM,
    'content-encoding': 'gzip',
  }),
  'a gzip bomb of many events': inAnswer(() => [gzipBomb(manyEvents(MIB))], {
    'content-type': EVENT_STREAM,
    'content-encoding': 'gzip',
  }),
  'a brotli bomb inside a gzip one': inAnswer(() => [gzipSync(brotliBomb())], {
    'content-type': EVENT_STREAM,
    'content-encoding': 'br, gzip',
  }),
  'a body that is not of its encoding': inAnswer((threadId) => runStream(threadId, ['High water']), {
    'content-type': EVENT_STREAM,
    'content-encoding': 'zstd',
  }),
  'binary frames longer than there are bytes': inAnswer(() => [Buffer.alloc(64 * KIB, 0xff)], {
    'content-type': 'application/vnd.ag-ui.event+proto',
  }),
  'a request deeper than a stack': inRequest((threadId) =>
    runRequest(threadId).replace('"state":{}', `"state":${deep()},"forwardedProps":${deep()},"resume":${deep()}`),
  ),
  'a request whose messages are deeper than a stack': inRequest((threadId) =>
    runRequest(threadId).replace('"content":"When', `"toolCalls":${deep()},"content":"When`),
  ),
  'a request over the bound of a copy': inRequest((threadId) => runRequest(threadId, { state: 'x'.repeat(3 * MIB) })),
  'a request that is no UTF-8': inRequest((threadId) =>
    Buffer.concat([Buffer.from(runRequest(threadId).slice(0, -1)), NO_UTF8, Buffer.from('}')]),
  ),
  'a request that is a gzip bomb': inRequest(() => gzipBomb(letters(MIB)), 'gzip'),
  'a thread id that is a book': {
    request: (threadId) => ({ body: runRequest(threadId + 'x'.repeat(400 * KIB)) }),
    answer: plainAnswer,
  },
};
