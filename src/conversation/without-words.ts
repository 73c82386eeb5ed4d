import type { Conversation } from './conversation.ts';
import type { Message } from './message.ts';

/**
 * What is worth keeping of a conversation that can no longer be judged: who spoke last, what calls are open and which run was
 * which, so that it closes when it should and a replay is known; and nothing of what was said.
 *
 * @param latest the messages of its last exchange.
 */
export function withoutWords(conversation: Conversation, latest: readonly Message[]): Conversation {
  return { ...conversation, messages: latest.map(withoutItsWords), superseded: [] };
}

function withoutItsWords(message: Message): Message {
  const { id, role } = message;
  switch (role) {
    case 'assistant':
      return { id, role, text: '', toolCalls: message.toolCalls.map((call) => ({ ...call, args: {} })) };
    case 'tool':
      return { id, role, text: '', toolCallId: message.toolCallId };
    case 'system':
    case 'developer':
    case 'user':
      return { id, role, text: '' };
  }
}
