import type { AssistantMessage, Message, ToolMessage } from '../../src/conversation/message.ts';
import type { JsonObject } from '../../src/lib/json.ts';

/** Short ways to write a conversation down in tests. */
export const user = (text: string): Message => ({ role: 'user', id: `u-${text}`, text });

export const assistant = (text: string, ...calls: AssistantMessage['toolCalls']): AssistantMessage => ({
  role: 'assistant',
  id: `a-${text}`,
  text,
  toolCalls: calls,
});

export const call = (
  id: string,
  name: string,
  args: JsonObject = {},
  state: 'open' | 'complete' | 'answered' = 'answered',
): AssistantMessage['toolCalls'][number] => ({ id, name, args, state });

export const result = (toolCallId: string, text: string, error?: string): ToolMessage => ({
  role: 'tool',
  id: `r-${toolCallId}`,
  toolCallId,
  text,
  ...(error === undefined ? {} : { error }),
});
