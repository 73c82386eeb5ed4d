import type { Conversation } from './conversation.ts';
import type { Message } from './message.ts';

/**
 * Whether the conversation waits for a person: an interrupt that nobody answered, or a last turn that ends on a tool
 * call without a result (a front-end tool, an approval).
 */
export function isWaiting(conversation: Conversation): boolean {
  const ending = conversation.runs.at(-1)?.ending;
  if (ending === 'interrupt' || conversation.openInterrupts.length > 0) return true;
  // A run that broke off leaves its calls without results too; nobody is asked to answer those.
  return ending === 'success' && endsOnPendingCall(conversation.messages);
}

/** True when the last message is an assistant's, or results of its calls, and one of those calls has no result. */
export function endsOnPendingCall(messages: readonly Message[]): boolean {
  const at = messages.findLastIndex((message) => message.role !== 'tool');
  const last = messages[at];
  return last?.role === 'assistant' && last.toolCalls.some((call) => call.state !== 'answered');
}

/**
 * Whether too little is known for a judgement to be fair to the agent: the client left while it was working, the tap gave
 * up, or the last run was refused (4xx: a wrong key, a full queue, a malformed request), so that the agent never had it.
 */
export function isPartlySeen({ runs, mayHaveGap }: Conversation): boolean {
  const last = runs.at(-1);
  const wasRefused = last?.ending === 'http_error' && (last.status ?? 0) < 500;
  return mayHaveGap || last?.ending === 'client_aborted' || wasRefused;
}

export const hasUserTurn = (messages: readonly Message[]): boolean => messages.some(({ role }) => role === 'user');
