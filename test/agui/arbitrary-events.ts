import fc from 'fast-check';
import { EVENT_TYPES } from '../../src/agui/read-event.ts';
import type { JsonValue } from '../../src/lib/json.ts';

const id = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor');
const odd = fc.oneof(fc.constant(null), fc.integer(), fc.jsonValue({ maxDepth: 2 }));

/** What JSON makes of a value that TypeScript knows too much or too little about. */
export const asJson = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

/** Now and then something of another type. */
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

/** The messages of a request or a snapshot, or what stands in their place. */
export const anyMessages = oddly(fc.array(oddly(message), { maxLength: 5 }));

/** Events of every type whose fields may be missing, null, or of any type, around a few ids, so that they meet. */
export const anyEvent: fc.Arbitrary<JsonValue> = fc
  .record(
    {
      type: oddly(fc.constantFrom(...EVENT_TYPES, 'RUN_CANCELLED', 'NO_SUCH_TYPE')),
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
      messages: anyMessages,
      input: oddly(fc.record({ messages: anyMessages })),
    },
    { requiredKeys: ['type'] },
  )
  .map(asJson);

/** Events, and now and then what is none. */
export const anyEvents: fc.Arbitrary<JsonValue[]> = fc.array(oddly(anyEvent).map(asJson), {
  maxLength: 30,
  size: 'max',
});
