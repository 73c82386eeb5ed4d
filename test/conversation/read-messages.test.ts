import { describe, expect, it } from 'vitest';
import { MessageFormatError } from '../../src/conversation/message-fields.ts';
import { readMessages } from '../../src/conversation/read-messages.ts';
import type { JsonValue } from '../../src/lib/json.ts';

describe('readMessages', () => {
  it('reads our form with ids and call states left out', () => {
    const messages = readMessages([
      { role: 'user', text: 'Book it.' },
      { role: 'assistant', toolCalls: [{ id: 'c1', name: 'book', args: { berth: 7 } }, { name: 'pay' }] },
      { role: 'tool', toolCallId: 'c1', error: 'taken' },
    ]);
    expect(messages).toEqual([
      { role: 'user', id: 'message-1', text: 'Book it.' },
      {
        role: 'assistant',
        id: 'message-2',
        text: '',
        toolCalls: [
          { id: 'c1', name: 'book', args: { berth: 7 }, state: 'answered' },
          { id: 'call-2-2', name: 'pay', args: {}, state: 'complete' },
        ],
      },
      { role: 'tool', id: 'message-3', text: '', toolCallId: 'c1', error: 'taken' },
    ]);
  });

  it('reads back all that the collector writes', () => {
    const written = [
      { role: 'system', id: 's', text: 'x', snapshotOmits: true },
      { role: 'user', id: 'u', text: 'x', attachments: [{ type: 'image', mimeType: 'image/png', bytes: 3 }] },
      {
        role: 'assistant',
        id: 'a',
        text: '',
        subagent: 's1',
        toolCalls: [{ id: 'c', name: 'n', args: { unparsed: '[' }, state: 'open' }],
        partial: true,
      },
      { role: 'tool', id: 't', text: 'x', toolCallId: 'c' },
    ];
    expect(readMessages(written)).toEqual(written);
  });

  it('knows the Ragas form by its first message', () => {
    expect(readMessages([{ type: 'human', content: 'Hi.' }])).toEqual([{ role: 'user', id: 'message-1', text: 'Hi.' }]);
  });

  it.each<[JsonValue | undefined, string]>([
    [undefined, 'messages: given nothing, expected a list of messages'],
    ['x', 'messages: given "x", expected a list of messages'],
    [
      [{ role: 'bot', text: 'x' }],
      'messages[0].role: given "bot", expected system, developer, user, assistant or tool',
    ],
    [[{ text: 'x' }], 'messages[0].role: given nothing, expected'],
    [[{ role: 'user' }], 'messages[0].text: given nothing, expected a string'],
    [
      [{ role: 'user', content: 'x' }],
      'messages[0].content: given "x", expected it under "text": our form has "role" and "text", the Ragas form "type" and "content"',
    ],
    [
      [{ role: 'assistant', content: null, tool_calls: [{ name: 'a' }] }],
      'messages[0].tool_calls: given a list of 1, expected it under "toolCalls"',
    ],
    [
      [{ role: 'tool', text: 'x', tool_call_id: 'c' }],
      'messages[0].tool_call_id: given "c", expected it under "toolCallId"',
    ],
    [[{ role: 'assistant' }], 'messages[0].text: given nothing, expected a string'],
    [[{ role: 'tool', text: 'x' }], 'messages[0].toolCallId: given nothing, expected a string'],
    [
      [{ role: 'assistant', text: '', toolCalls: [{ name: 'a', state: 'done' }] }],
      'messages[0].toolCalls[0].state: given "done", expected open, complete or answered',
    ],
    [[{ role: 'user', text: 'x', id: 7 }], 'messages[0].id: given 7, expected a string'],
    [[{ role: 'user', text: { a: 1, b: 2 } }], 'messages[0].text: given an object with a, b, expected a string'],
  ])('says where %j is wrong', (value, message) => {
    expect(() => readMessages(value)).toThrow(MessageFormatError);
    expect(() => readMessages(value)).toThrow(message);
  });

  it('leaves alone what another tool adds beside our members', () => {
    const message = { role: 'assistant', text: 'Hi.', content: 'Hi.', tool_calls: [] };
    expect(readMessages([message])).toMatchObject([{ text: 'Hi.', toolCalls: [] }]);
  });

  it('names the list as its caller does', () => {
    expect(() => readMessages(null, 'user_input')).toThrow('user_input: given null');
  });
});
