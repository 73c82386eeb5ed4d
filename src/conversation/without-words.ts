import type { Interrupt } from '../agui/exchange.ts';
import type { Message } from './message.ts';

/** Messages by their ids, roles and calls: who spoke, and what is still open. Nothing of what was said. */
export function withoutWords(messages: readonly Message[]): readonly Message[] {
  return messages.map((message): Message => {
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
  });
}

/** Interrupts without the arguments that wait for approval. */
export function withoutArguments(interrupts: readonly Interrupt[]): readonly Interrupt[] {
  return interrupts.map(({ id, toolCallId, toolName }) => ({
    id,
    ...(toolCallId !== undefined && { toolCallId }),
    ...(toolName !== undefined && { toolName }),
  }));
}
