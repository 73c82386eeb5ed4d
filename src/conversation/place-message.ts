import type { AssistantMessage, Message, ToolCall, ToolMessage } from './message.ts';

export interface Placement {
  /** The message stands for the held one of its id as a whole; otherwise it continues it. */
  readonly supersedes: boolean;
  /** A tool message takes the place of the result held for its call. */
  readonly replacesResult: boolean;
}

/**
 * Puts a message where a reader expects it, changing `messages` in place: over the held message of its id; a tool result
 * behind its caller; a re-announced call over the call that is held; otherwise at the end.
 */
export function placeMessage(messages: Message[], message: Message, placement: Placement): void {
  const at = messages.findIndex((held) => held.id === message.id && held.role === message.role);
  const held = messages[at];
  if (message.role === 'tool') placeResult(messages, message, at, placement);
  else if (held) messages[at] = placement.supersedes ? message : continued(held, message);
  else if (message.role === 'assistant') placeAssistant(messages, message);
  else messages.push(message);
}

function placeResult(messages: Message[], result: ToolMessage, sameId: number, placement: Placement): void {
  const sameCall = messages.findLastIndex((held) => held.role === 'tool' && held.toolCallId === result.toolCallId);
  if (sameId >= 0 && sameId === sameCall) messages[sameId] = result;
  else if (sameCall >= 0 && placement.replacesResult) messages[sameCall] = result;
  else messages.splice(behindCaller(messages, result.toolCallId), 0, result);
  answerCall(messages, result.toolCallId);
}

/** Behind the caller and the results that follow it; at the end when nobody is known to have made the call. */
function behindCaller(messages: readonly Message[], toolCallId: string): number {
  const caller = messages.findLastIndex((message) => callIn(message, toolCallId));
  if (caller < 0) return messages.length;
  let at = caller + 1;
  while (messages[at]?.role === 'tool') at += 1;
  return at;
}

function answerCall(messages: Message[], toolCallId: string): void {
  const at = messages.findLastIndex((message) => callIn(message, toolCallId));
  const caller = messages[at];
  if (caller?.role !== 'assistant') return;
  messages[at] = {
    ...caller,
    toolCalls: caller.toolCalls.map((call) => (call.id === toolCallId ? { ...call, state: 'answered' } : call)),
  };
}

/**
 * A call that is held already is announced again by some resume runs, or known to the collector by its result only; it
 * is updated where it stands. What else the message brings becomes a message of its own.
 */
function placeAssistant(messages: Message[], message: AssistantMessage): void {
  const news = message.toolCalls.filter((call) => !updateHeldCall(messages, call));
  if (news.length > 0 || message.text !== '' || message.toolCalls.length === 0) {
    messages.push(news.length === message.toolCalls.length ? message : { ...message, toolCalls: news });
  }
}

function updateHeldCall(messages: Message[], call: ToolCall): boolean {
  const at = messages.findLastIndex((message) => callIn(message, call.id));
  const caller = messages[at];
  if (caller?.role !== 'assistant') return false;
  messages[at] = {
    ...caller,
    toolCalls: caller.toolCalls.map((held) => (held.id === call.id ? updated(held, call) : held)),
  };
  return true;
}

function updated(held: ToolCall, call: ToolCall): ToolCall {
  const state = held.state === 'answered' ? held.state : call.state;
  return call.name === 'unknown_tool' ? { ...held, state } : { ...call, state };
}

/** The continuation of a message that the collector, without the thread's history, took for a new one. */
function continued(held: Message, message: Message): Message {
  const text = message.text.startsWith(held.text) ? message.text : held.text + message.text;
  if (held.role !== 'assistant' || message.role !== 'assistant') return { ...message, text };
  const news = message.toolCalls.filter((call) => !held.toolCalls.some((known) => known.id === call.id));
  return { ...message, text, toolCalls: [...held.toolCalls, ...news] };
}

function callIn(message: Message, toolCallId: string): boolean {
  return message.role === 'assistant' && message.toolCalls.some((call) => call.id === toolCallId);
}
