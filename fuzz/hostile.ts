import type { JsonValue } from '../src/lib/json.ts';

/** Nested deeper than the stack of whoever walks it by recursion. */
const DEPTH = 6000;

/** Names that mean something to JavaScript, and those that readers look for under two spellings. */
export const HOSTILE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  '',
  'id',
  'type',
  'name',
  'delta',
  'content',
  'messages',
  'toolCalls',
  'tool_calls',
  'toolCallId',
  'tool_call_id',
  'parentMessageId',
  'parent_message_id',
  'subagentRunId',
  'usage',
  'outcome',
  'interrupts',
  'metadata',
  'input',
] as const;

export const HOSTILE_NUMBERS = [
  0,
  -1,
  0.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  1e21,
] as const;

/** Pieces of text that parsers, and readers of text, trip over. */
export const HOSTILE_TEXTS = [
  '',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\r',
  '\0',
  ' ',
  '\uFEFF',
  '\u00EF\u00BB\u00BF',
  '\uD800',
  '\uDC00',
  '\u2028',
  '\u00FF\u00FE',
  'data:',
  'data: {}\n\n',
  'event: error\n',
  'id: 1\n',
  ':',
  '[DONE]',
  'null',
  '{',
  '}',
  '"',
  '\\',
  '__proto__',
  'constructor',
  'message-1',
  'call-1',
  'unknown_tool',
  'derived-',
  'x'.repeat(300),
] as const;

export const HOSTILE_VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  ...HOSTILE_NUMBERS,
  ...HOSTILE_TEXTS.slice(0, 12),
  // As JSON.parse makes it: a member of that name, and no prototype.
  Object.fromEntries([
    ['__proto__', { polluted: true }],
    ['constructor', { prototype: { polluted: true } }],
  ]),
  nested(300),
  nested(1500),
];

/** JSON texts that nest deeper than they can be written out again by recursion. */
export const DEEP_TEXTS = [
  '['.repeat(DEPTH) + ']'.repeat(DEPTH),
  `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`,
] as const;

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
}
