import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { toRagasMessages } from '../../src/conversation/ragas.ts';
import { BOUNDS, captureOf } from './captures.ts';
import { encodeSse, fold, foldBytes } from './streams.ts';

const TYPES = [
  ...['START', 'CONTENT', 'END', 'CHUNK'].flatMap((part) => [`TEXT_MESSAGE_${part}`, `REASONING_MESSAGE_${part}`]),
  ...['START', 'ARGS', 'END', 'CHUNK', 'RESULT'].map((part) => `TOOL_CALL_${part}`),
  'RUN_STARTED',
  'RUN_FINISHED',
  'RUN_ERROR',
  'RUN_CANCELLED',
  'STEP_STARTED',
  'MESSAGES_SNAPSHOT',
  'CUSTOM',
  'RAW',
  'SUBAGENT_STARTED',
  'SUBAGENT_FINISHED',
  'ACTIVITY_SNAPSHOT',
  'THINKING_START',
  'NO_SUCH_TYPE',
];

const id = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor');
const odd = fc.oneof(fc.constant(null), fc.integer(), fc.jsonValue({ maxDepth: 2 }));

/** What JSON makes of a value that TypeScript knows too much or too little about. */
const asJson = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value));
const oddly = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: odd });

const toolCall = fc.record(
  { id: oddly(id), function: oddly(fc.record({ name: id, arguments: oddly(fc.json({ maxDepth: 1 })) })) },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    id: oddly(id),
    role: oddly(fc.constantFrom('user', 'assistant', 'tool', 'system', 'reasoning', 'activity', 'robot')),
    content: oddly(fc.string({ maxLength: 3 })),
    toolCallId: oddly(id),
    toolCalls: oddly(fc.array(oddly(toolCall), { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const messages = oddly(fc.array(oddly(message), { maxLength: 5 }));

/** Events whose fields may be missing, null, or of any type, around a few ids, so that they meet. */
const event: fc.Arbitrary<JsonValue> = fc
  .record(
    {
      type: oddly(fc.constantFrom(...TYPES)),
      messageId: oddly(id),
      toolCallId: oddly(id),
      tool_call_id: oddly(id),
      parentMessageId: oddly(id),
      toolCallName: oddly(id),
      subagentRunId: oddly(id),
      threadId: oddly(id),
      runId: oddly(id),
      role: oddly(fc.constantFrom('user', 'assistant', 'tool')),
      delta: oddly(fc.constantFrom('', '{', '}', '{"a":1}', 'text')),
      content: oddly(fc.string({ maxLength: 3 })),
      name: oddly(fc.constantFrom('on_interrupt', 'other')),
      value: odd,
      outcome: oddly(fc.record({ type: oddly(fc.constantFrom('interrupt', 'cancelled')), interrupts: odd })),
      usage: odd,
      messages,
      input: oddly(fc.record({ messages })),
    },
    { requiredKeys: ['type'] },
  )
  .map(asJson);

describe('the collector never throws', () => {
  it('on random bytes in any format', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('sse', 'protobuf', 'jsonl'),
        async (bytes, format) => {
          await expect(foldBytes([bytes], format)).resolves.toBeDefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('on random events, and what it makes of them can be written down', () => {
    fc.assert(
      fc.property(fc.array(oddly(event).map(asJson), { maxLength: 30, size: 'max' }), messages, (events, history) => {
        const folded = fold(events, { messages: history } as JsonObject);
        expect(JSON.stringify(folded)).toContain('"ending"');
        expect(toRagasMessages(folded.messages)).toBeInstanceOf(Array);
      }),
      { numRuns: 1000 },
    );
  });

  it('on random captures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.uint8Array(), fc.array(event, { maxLength: 5 }).map(encodeSse)),
        fc.constantFrom('', 'gzip', 'br', 'deflate', 'zstd', 'gzip, br', 'x'),
        fc.oneof(fc.constant('text/event-stream'), fc.constant('application/vnd.ag-ui.event+proto'), fc.string()),
        fc.jsonValue(),
        async (bytes, contentEncoding, contentType, request) => {
          const reading = readCapture(captureOf({ pieces: [bytes], contentEncoding, contentType, request }), BOUNDS);
          await expect(reading.then(() => 'read')).resolves.toBe('read');
        },
      ),
      { numRuns: 500 },
    );
  });
});
