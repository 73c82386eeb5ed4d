import { readCapture } from '../../src/agui/read-capture.ts';
import type { Exchange } from '../../src/agui/exchange.ts';
import type { Conversation } from '../../src/conversation/conversation.ts';
import { mergingExchange } from '../../src/conversation/merge-runs.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { captureOf, NO_BOUNDS, recordRun } from '../capture.ts';

/** A piece of work of a given size, ready to be done again and again. */
export interface Work {
  /** What its cost must be in proportion to. */
  readonly amount: number;
  readonly run: () => Promise<unknown>;
}

/** A kind of work, at growing sizes. */
export interface WorkKind {
  readonly name: string;
  readonly amountOf: 'events' | 'bytes' | 'messages';
  /** Largest size. */
  readonly largest: number;
  readonly prepare: (size: number) => Promise<Work>;
}

/** Reads a stream, from its bytes to the exchange. */
function reading(
  name: string,
  amountOf: 'events' | 'bytes',
  largest: number,
  events: (size: number) => Iterable<object>,
): WorkKind {
  return {
    name,
    amountOf,
    largest,
    async prepare(size) {
      const run = recordRun({ threadId: 't', runId: 'r' }, events(size));
      const capture = captureOf(run, 0);
      const amount =
        amountOf === 'events' ? run.chunks.length : run.chunks.reduce((sum, { length }) => sum + length, 0);
      return { amount, run: () => readCapture(capture, NO_BOUNDS) };
    },
  };
}

/** Merges one more run into a conversation of so many turns, each a question and its answer. */
function merging(name: string, largest: number, next: (size: number) => Promise<Exchange>): WorkKind {
  return {
    name,
    amountOf: 'messages',
    largest,
    async prepare(size) {
      const first = await exchangeOf('first', [], turns(size));
      const { conversation } = atOnce(mergingExchange(undefined, first));
      const exchange = await next(size);
      return { amount: conversation.messages.length, run: async () => merged(conversation, exchange) };
    },
  };
}

function merged(conversation: Conversation, exchange: Exchange): Conversation {
  return atOnce(mergingExchange(conversation, exchange)).conversation;
}

async function exchangeOf(runId: string, events: Iterable<object>, messages: readonly object[]): Promise<Exchange> {
  const exchange = await readCapture(captureOf(recordRun({ threadId: 't', runId }, events, messages), 0), NO_BOUNDS);
  if (!exchange) throw new Error(`The run "${runId}" was not read as one of AG-UI. Compare its events with src/agui.`);
  return exchange;
}

/** A history of questions and answers. `prefix` names their ids. */
function turns(count: number, prefix = ''): object[] {
  return Array.from({ length: count }, (_, at) => [
    { id: `${prefix}question-${at}`, role: 'user', content: `When is high water on day ${at}?` },
    { id: `${prefix}answer-${at}`, role: 'assistant', content: `On day ${at} it is at ten past ${at % 24}.` },
  ]).flat();
}

const QUESTION = { id: 'question-next', role: 'user', content: 'And tomorrow?' };
const ANSWER = [
  { type: 'TEXT_MESSAGE_START', messageId: 'answer-next', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'answer-next', delta: 'An hour later.' },
  { type: 'TEXT_MESSAGE_END', messageId: 'answer-next' },
];

const DELTA = 'ten bytes ';

function* shortMessages(size: number): Generator<object> {
  for (let index = 0; index < size; index += 1) {
    const messageId = `m${index}`;
    yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' };
    for (let count = 0; count < 5; count += 1) yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: DELTA };
    yield { type: 'TEXT_MESSAGE_END', messageId };
  }
}

function* text(size: number): Generator<object> {
  yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
  for (let index = 0; index < size; index += 1) yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: DELTA };
  yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
}

function* argumentDeltas(size: number): Generator<object> {
  yield { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'store' };
  yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"text":"' };
  for (let index = 0; index < size; index += 1) yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: DELTA };
  yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '"}' };
  yield { type: 'TOOL_CALL_END', toolCallId: 'c' };
}

/** All of one message, and answered in the end. */
function* calls(size: number): Generator<object> {
  for (let index = 0; index < size; index += 1) {
    yield { type: 'TOOL_CALL_START', toolCallId: `c${index}`, toolCallName: 'tides', parentMessageId: 'm' };
    yield { type: 'TOOL_CALL_ARGS', toolCallId: `c${index}`, delta: '{"port":"Oban"}' };
    yield { type: 'TOOL_CALL_END', toolCallId: `c${index}` };
  }
  for (let index = 0; index < size; index += 1) {
    yield { type: 'TOOL_CALL_RESULT', messageId: `r${index}`, toolCallId: `c${index}`, content: 'four' };
  }
}

/** The same, as a client holds it afterwards. */
const callHistory = (size: number): object[] => [
  {
    id: 'm',
    role: 'assistant',
    toolCalls: Array.from({ length: size }, (_, index) => ({
      id: `c${index}`,
      type: 'function',
      function: { name: 'tides', arguments: '{"port":"Oban"}' },
    })),
  },
  ...Array.from({ length: size }, (_, index) => ({
    id: `r${index}`,
    role: 'tool',
    toolCallId: `c${index}`,
    content: 'four',
  })),
];

/** One event of so much text. */
function* bigEvent(size: number): Generator<object> {
  yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
  yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: DELTA.repeat(size) };
  yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
}

const snapshot = (size: number): Iterable<object> => [{ type: 'MESSAGES_SNAPSHOT', messages: turns(size) }];

/** After each turn the transcript so far, as some agents send it: the bytes grow with the square of the turns. */
function* growingSnapshots(size: number): Generator<object> {
  for (let count = 1; count <= size; count += 1) yield* snapshot(count);
}

/** Everything whose growth is measured. */
export const WORK: readonly WorkKind[] = [
  reading('messages of 5 deltas', 'events', 10_000, shortMessages),
  reading('one text in deltas of 10 bytes', 'events', 100_000, text),
  reading('the arguments of one call in deltas of 10 bytes', 'events', 100_000, argumentDeltas),
  reading('calls of one message, each with its result', 'events', 4_000, calls),
  reading('one event of text', 'bytes', 100_000, bigEvent),
  reading('one snapshot', 'bytes', 2_000, snapshot),
  reading('snapshots after every turn', 'bytes', 160, growingSnapshots),
  {
    name: 'a request with a history',
    amountOf: 'messages',
    largest: 5_000,
    async prepare(size) {
      const capture = captureOf(recordRun({ threadId: 't', runId: 'r' }, ANSWER, turns(size)), 0);
      return { amount: size * 2, run: () => readCapture(capture, NO_BOUNDS) };
    },
  },
  merging('a run that brings the whole history, merged', 5_000, (size) =>
    exchangeOf('next', ANSWER, [...turns(size), QUESTION]),
  ),
  merging('a run that brings its question only, merged', 5_000, () => exchangeOf('next', ANSWER, [QUESTION])),
  merging('a run that brings the history under other ids, merged', 5_000, (size) =>
    exchangeOf('next', ANSWER, [...turns(size, 'renamed-'), QUESTION]),
  ),
  merging('a snapshot of the history under other ids, merged', 1_500, (size) =>
    exchangeOf('next', [...ANSWER, { type: 'MESSAGES_SNAPSHOT', messages: turns(size, 'renamed-') }], [QUESTION]),
  ),
  merging('a run of calls of one message, merged', 3_000, (size) => exchangeOf('next', calls(size), [QUESTION])),
  {
    name: 'a history of calls of one message, merged',
    amountOf: 'messages',
    largest: 3_000,
    async prepare(size) {
      const { conversation } = atOnce(mergingExchange(undefined, await exchangeOf('first', calls(size), [QUESTION])));
      const exchange = await exchangeOf('next', ANSWER, [QUESTION, ...callHistory(size)]);
      return { amount: size, run: async () => merged(conversation, exchange) };
    },
  },
  merging('a run that begins the history anew, merged', 5_000, () =>
    exchangeOf('next', ANSWER, [{ ...QUESTION, id: 'question-0' }]),
  ),
];
