import { describe, expect, it } from 'vitest';
import type { AssistantMessage, Message, ToolCall } from '../../src/conversation/message.ts';
import { fromRagasMessages, toRagasMessages } from '../../src/conversation/ragas.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { result, user } from '../support/exchanges.ts';

const calls = (...names: readonly string[]): ToolCall[] =>
  names.map((name) => ({ id: name, name, args: { of: name }, state: 'complete' }));
const agent = (text: string, ...names: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  id: `${text}${names.join()}`,
  text,
  toolCalls: calls(...names),
});
const made = (...names: readonly string[]) => names.map((name) => ({ name, args: { of: name } }));

describe('toRagasMessages', () => {
  it('writes a conversation as Ragas reads it', () => {
    const messages: Message[] = [
      user('u1', 'Tide?'),
      agent('Looking.', 'tides'),
      result('r1', 'tides', 'four'),
      agent('At four.'),
    ];
    expect(toRagasMessages(messages)).toEqual([
      { type: 'human', content: 'Tide?' },
      { type: 'ai', content: 'Looking.', tool_calls: made('tides') },
      { type: 'tool', content: 'four' },
      { type: 'ai', content: 'At four.', tool_calls: null },
    ]);
  });

  it.each<[string, Message[], [string, string[]][]]>([
    ['text, then calls', [agent('Text.'), agent('', 'a', 'b')], [['Text.', ['a', 'b']]]],
    ['calls, then text', [agent('', 'a'), agent('Text.')], [['Text.', ['a']]]],
    ['calls on both sides', [agent('', 'a'), agent('Text.', 'b'), agent('', 'c')], [['Text.', ['a', 'b', 'c']]]],
    ['calls only', [agent('', 'a'), agent('', 'b')], [['', ['a', 'b']]]],
    [
      'two texts',
      [agent('One.'), agent('Two.')],
      [
        ['One.', []],
        ['Two.', []],
      ],
    ],
    [
      'two texts around calls',
      [agent('One.'), agent('', 'a'), agent('Two.')],
      [
        ['One.', ['a']],
        ['Two.', []],
      ],
    ],
    ['nothing between', [agent('One.'), agent(''), agent('', 'a')], [['One.', ['a']]]],
    ['only nothing', [agent('')], []],
    ['blanks, which are text', [agent(' '), agent('', 'a')], [[' ', ['a']]]],
  ])('joins assistant messages that follow each other: %s', (_, messages, expected) => {
    expect(toRagasMessages(messages)).toEqual(
      expected.map(([content, names]) => ({
        type: 'ai',
        content,
        tool_calls: names.length > 0 ? made(...names) : null,
      })),
    );
  });

  it('does not join across a user or a tool', () => {
    const messages = [agent('', 'a'), result('r', 'a', 'x'), agent('', 'b'), user('u', 'hm'), agent('ok')];
    expect(toRagasMessages(messages).map(({ type }) => type)).toEqual(['ai', 'tool', 'ai', 'human', 'ai']);
  });

  it('leaves out system and developer messages', () => {
    const messages: Message[] = [
      { role: 'system', id: 's', text: 'x' },
      agent('', 'a'),
      { role: 'developer', id: 'd', text: 'x' },
      agent('ok'),
    ];
    expect(toRagasMessages(messages)).toEqual([{ type: 'ai', content: 'ok', tool_calls: made('a') }]);
  });

  it('writes arguments that are no object under raw_args, and a lone error as the result', () => {
    const unparsed: Message = {
      ...agent(''),
      toolCalls: [{ id: 'a', name: 'a', args: { unparsed: '[' }, state: 'open' }],
    };
    expect(toRagasMessages([unparsed, { ...result('r', 'a', ''), error: 'no tide' }])).toEqual([
      { type: 'ai', content: '', tool_calls: [{ name: 'a', args: { raw_args: '[' } }] },
      { type: 'tool', content: 'no tide' },
    ]);
  });
});

describe('fromRagasMessages', () => {
  const read = (...rows: JsonValue[]) => fromRagasMessages(rows, 'messages');

  it('makes up ids and gives results to calls in their order', () => {
    const messages = read(
      { type: 'human', content: 'Go.' },
      {
        type: 'ai',
        content: '',
        tool_calls: [{ name: 'a', args: {} }, { name: 'b', args: { raw_args: '[' } }, { name: 'c' }],
      },
      { type: 'tool', content: 'A' },
      { type: 'tool', content: 'B' },
    );
    expect(messages).toEqual([
      { role: 'user', id: 'message-1', text: 'Go.' },
      {
        role: 'assistant',
        id: 'message-2',
        text: '',
        toolCalls: [
          { id: 'call-1', name: 'a', args: {}, state: 'answered' },
          { id: 'call-2', name: 'b', args: { unparsed: '[' }, state: 'answered' },
          { id: 'call-3', name: 'c', args: {}, state: 'complete' },
        ],
      },
      { role: 'tool', id: 'message-3', text: 'A', toolCallId: 'call-1' },
      { role: 'tool', id: 'message-4', text: 'B', toolCallId: 'call-2' },
    ]);
  });

  it('gives a result to a call made since the user spoke, if there is one', () => {
    const ask = (name: string) => ({ type: 'ai', content: '', tool_calls: [{ name, args: {} }] });
    const messages = fromRagasMessages(
      [ask('first'), { type: 'human', content: 'Well?' }, ask('second'), { type: 'tool', content: 'done' }],
      'messages',
    );
    const states = messages.flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map(({ name, state }) => [name, state]) : [],
    );
    expect(states).toEqual([
      ['first', 'complete'],
      ['second', 'answered'],
    ]);
  });

  it('keeps a result that answers no call', () => {
    expect(read({ type: 'tool', content: 'x' })).toMatchObject([{ role: 'tool', text: 'x' }]);
  });

  it('comes back as it was', () => {
    const rows = [
      { type: 'human', content: 'Go.' },
      { type: 'ai', content: 'Going.', tool_calls: [{ name: 'a', args: { raw_args: 'x' } }] },
      { type: 'tool', content: 'A' },
      { type: 'ai', content: 'Gone.', tool_calls: null },
    ];
    expect(toRagasMessages(read(...rows))).toEqual(rows);
  });

  it.each<[JsonValue, string]>([
    [{ type: 'bot', content: 'x' }, 'messages[1].type: given "bot", expected human, ai or tool'],
    [
      { type: 'human', text: 'x' },
      'messages[1].text: given "x", expected it under "content": the Ragas form has "type" and "content", our form "role" and "text"',
    ],
    [{ type: 'human' }, 'messages[1].content: given nothing, expected a string'],
    [{ type: 'ai', content: '', tool_calls: 'x' }, 'messages[1].tool_calls: given "x", expected a list'],
    [
      { type: 'ai', content: '', tool_calls: [{ args: {} }] },
      'messages[1].tool_calls[0].name: given nothing, expected a string',
    ],
    [
      { type: 'ai', content: '', tool_calls: [{ name: 'a', args: [1] }] },
      'messages[1].tool_calls[0].args: given a list of 1, expected an object',
    ],
    [7, 'messages[1]: given 7, expected an object'],
  ])('says where %j is wrong', (row, message) => {
    expect(() => read({ type: 'human', content: 'Go.' }, row)).toThrow(message);
  });
});
