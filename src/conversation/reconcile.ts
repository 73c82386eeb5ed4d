import { UNKNOWN_TOOL } from '../agui/held-message.ts';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from './message.ts';

/** Takes from a client's later copy only what the stream could not tell. */
export function reconcile(held: Message, copy: Message): Message {
  if (held.role === 'assistant' && copy.role === 'assistant') return reconcileAssistant(held, copy);
  if (held.role === 'tool' && copy.role === 'tool') return reconcileResult(held, copy);
  return held;
}

function reconcileAssistant(held: AssistantMessage, copy: AssistantMessage): AssistantMessage {
  const toolCalls = mergeCalls(held.toolCalls, copy.toolCalls);
  // The client left early and came back: the agent had finished unseen.
  if (held.partial && copy.text.length > held.text.length && copy.text.startsWith(held.text)) {
    const { partial: _, ...whole } = held;
    return { ...whole, text: copy.text, toolCalls };
  }
  return toolCalls === held.toolCalls ? held : { ...held, toolCalls };
}

function mergeCalls(held: readonly ToolCall[], copies: readonly ToolCall[]): readonly ToolCall[] {
  const heldIds = new Set(held.map(({ id }) => id));
  // Of an id that is there twice, the first copy counts.
  const copyById = new Map(copies.toReversed().map((copy) => [copy.id, copy]));
  const news = copies.filter(({ id }) => !heldIds.has(id));
  let changed = news.length > 0;
  const merged = held.map((call) => {
    const copy = copyById.get(call.id);
    if (!copy || (call.name !== UNKNOWN_TOOL && call.state !== 'open')) return call;
    changed = true;
    return { ...call, name: copy.name, args: copy.args, state: call.state === 'answered' ? call.state : copy.state };
  });
  return changed ? [...merged, ...news] : held;
}

/** A later copy of a result replaces an earlier one: adapters emit placeholders for tools that run in the front end. */
function reconcileResult(held: ToolMessage, copy: ToolMessage): ToolMessage {
  if (held.text === copy.text && held.error === copy.error) return held;
  return { ...copy, id: held.id };
}
