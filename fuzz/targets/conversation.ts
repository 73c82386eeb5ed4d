import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { TransportEnd } from '../../src/agui/capture.ts';
import type { Exchange } from '../../src/agui/exchange.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { isWaiting } from '../../src/conversation/completion.ts';
import { type Conversation, RUN_LIMIT, SUPERSEDED_LIMIT } from '../../src/conversation/conversation.ts';
import { mergingExchange } from '../../src/conversation/merge-runs.ts';
import { toRagasMessages } from '../../src/conversation/ragas.ts';
import { DEFAULT_THREAD_BOUNDS, Threads } from '../../src/conversation/threads.ts';
import { renderTranscript } from '../../src/conversation/transcript.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { anyEvents, anyMessages, asJson } from '../../test/agui/arbitrary-events.ts';
import { BOUNDS, captureOf } from '../../test/agui/captures.ts';
import { encodeSse } from '../../test/agui/streams.ts';
import { validStream } from '../../test/agui/valid-streams.ts';
import { assertInProportion, assertPlainJson, assertUnpolluted } from '../checks.ts';
import { recordedBodies, recordedEvents } from '../fixtures.ts';
import { bytesOf, fieldsOf, listOf, oneOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const ENDS = ['complete', 'client_aborted', 'upstream_error'] as const satisfies readonly TransportEnd[];

/** Exchanges of one thread, one after the other, into one conversation. */
export const conversation = pureTarget({
  name: 'conversation',
  seeds: () => [
    ...threadsOf(
      recordedBodies().flatMap(({ format, body, request }) => (format === 'sse' && request ? [{ body, request }] : [])),
    ),
    ...threadsOf(recordedEvents().map((events) => ({ events, request: { threadId: 'a', messages: [] } }))),
  ],
  fresh: fc.array(
    fc.record({
      request: fc.record({
        threadId: fc.constant('a'),
        runId: fc.constantFrom('b', 'c', ''),
        messages: anyMessages.map(asJson),
      }),
      events: fc.oneof(
        anyEvents,
        validStream.map(({ before, after }) => [...before, ...after]),
      ),
      end: fc.constantFrom('complete', 'complete', ...ENDS),
      path: fc.constantFrom('/', '/', '/connect'),
    }),
    { maxLength: 5, size: 'max' },
  ),
  async run(input) {
    const threads = new Threads({ idleMs: 1, waitingMs: 1, openRunMs: 1, ...DEFAULT_THREAD_BOUNDS });
    let held: Conversation | undefined;
    for (const exchange of await exchangesOf(input)) {
      held = frozen(atOnce(mergingExchange(held, frozen(exchange))).conversation);
      threads.append(atOnce(threads.merging(exchange)), 1);
    }
    threads.closeAll(2);
    assertUnpolluted();
    if (!held) return;
    assertInProportion(assertPlainJson(held), JSON.stringify(input).length, { per: 30, flat: 10_000 });
    assert.ok(held.runs.length <= RUN_LIMIT && held.superseded.length <= SUPERSEDED_LIMIT);
    isWaiting(held);
    assertPlainJson(toRagasMessages(held.messages));
    const { text, mark } = renderTranscript(held.messages);
    assert.ok(text.length <= 120_000 + 100, `the transcript has ${text.length} characters`);
    assert.ok(text.startsWith(mark));
  },
});

async function exchangesOf(input: JsonValue): Promise<Exchange[]> {
  const read = listOf(input)
    .slice(0, 20)
    .map(async (given) => {
      const { request, events, body, end, path } = fieldsOf(given);
      const pieces = [events === undefined ? bytesOf(body) : encodeSse(listOf(events))];
      const overrides = { path: typeof path === 'string' ? path : '/', transport: oneOf(end, ENDS) };
      const exchange = await readCapture(captureOf({ pieces, request, overrides }), BOUNDS);
      return exchange ? [exchange] : [];
    });
  return (await Promise.all(read)).flat();
}

/** Each of them alone, and neighbours together. */
const threadsOf = (exchanges: readonly JsonValue[]): JsonValue[] =>
  exchanges.flatMap((exchange, at) => [[exchange], exchanges.slice(at, at + 3)]);

/** Whoever writes on it from here on throws. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) frozen(child);
  return Object.freeze(value);
}
