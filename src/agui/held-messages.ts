import { appendArguments, argumentText, type HeldCall, newCall, setArguments } from './held-call.ts';
import { type HeldMessage, heldText, newMessage } from './held-message.ts';
import type { WireMessage, WireToolCall } from './wire-message.ts';

/**
 * The messages of one exchange while it is read, in order. Appending, and placing a result behind its caller, cost the
 * same however long the conversation is: tool messages hang on the message they follow, so nothing is ever shifted.
 */
export interface HeldMessages {
  /** Tool messages before any other message. */
  leading: HeldMessage[];
  /** Every message that is not a tool's. */
  heads: HeldMessage[];
  /** How many messages are held, tool messages included. */
  size: number;
  /** By id and by every id that a snapshot replaced. Without tool messages: some producers give all results one id. */
  readonly byId: Map<string, HeldMessage>;
  readonly calls: Map<string, HeldCall>;
  /** Tool messages by the call they answer. */
  readonly results: Map<string, HeldMessage[]>;
  /** Ids of tool, reasoning and activity messages: a tool call never hangs on one of them. */
  readonly otherIds: Set<string>;
}

export const createHeldMessages = (): HeldMessages => ({
  leading: [],
  heads: [],
  size: 0,
  byId: new Map(),
  calls: new Map(),
  results: new Map(),
  otherIds: new Set(),
});

/** All messages in order. */
export function inOrder(held: HeldMessages): HeldMessage[] {
  const messages = held.leading.slice();
  for (const head of held.heads) {
    if (!head.gone) messages.push(head);
    for (const result of head.results) messages.push(result);
  }
  return messages;
}

/** Puts a message at the end. */
export function append(held: HeldMessages, message: HeldMessage): HeldMessage {
  if (message.role === 'tool') {
    (held.heads.at(-1)?.results ?? held.leading).push(message);
  } else held.heads.push(message);
  index(held, message);
  return message;
}

/** Results of one call that a further one is compared with. One is usual, and a thousand would cost a thousand each. */
export const MAX_COMPARED_RESULTS = 32;

/** Puts a tool message behind the assistant message that made the call, after the results that stand there. */
export function appendResult(held: HeldMessages, caller: HeldMessage, message: HeldMessage): void {
  caller.results.push(message);
  index(held, message);
}

/**
 * Moves a call, and the results that stand behind it, to the assistant message it turns out to belong to. A message that
 * only stood in for that one goes.
 */
export function moveCall(held: HeldMessages, call: HeldCall, parent: HeldMessage): void {
  const { owner } = call;
  const { own = [], others = [] } = Object.groupBy(owner.results, ({ toolCallId }) =>
    toolCallId === call.id ? 'own' : 'others',
  );
  owner.calls = owner.calls.filter((other) => other !== call);
  owner.results = others;
  owner.provisional = false;
  parent.calls.push(call);
  for (const result of own) parent.results.push(result);
  parent.changed = true;
  call.owner = parent;
  if (owner.calls.length > 0 || owner.open || heldText(owner) !== '') return;
  owner.gone = true;
  held.size -= 1;
  if (held.byId.get(owner.id) === owner) held.byId.delete(owner.id);
}

/** Gives a message its real id in place of one that was made up. */
export function rename(held: HeldMessages, message: HeldMessage, id: string): void {
  if (held.byId.get(message.id) === message) held.byId.delete(message.id);
  message.id = id;
  message.changed = true;
  held.byId.set(id, message);
}

/** Puts `messages` in place of all that is held. Those that are new must be in `byId` already. */
export function replaceAll(held: HeldMessages, messages: readonly HeldMessage[]): void {
  held.leading = [];
  held.heads = [];
  held.results.clear();
  for (const message of messages) {
    if (message.results.length > 0) message.results = [];
    if (message.role === 'tool') append(held, message);
    else held.heads.push(message);
  }
  held.size = messages.length;
}

function index(held: HeldMessages, message: HeldMessage): void {
  held.size += 1;
  if (message.role === 'tool') {
    held.otherIds.add(message.id);
    const results = held.results.get(message.toolCallId);
    if (results) results.push(message);
    else held.results.set(message.toolCallId, [message]);
  } else if (!held.byId.has(message.id)) held.byId.set(message.id, message);
}

/** A message as the request or a snapshot states it, with its calls; not yet in any order. */
export function fromWire(held: HeldMessages, wire: WireMessage, fromRequest: boolean): HeldMessage {
  const { role, id, text, attachments, toolCallId, error, subagent } = wire;
  const message = newMessage({
    role,
    id,
    knownText: text,
    attachments,
    toolCallId,
    fromRequest,
    ...(error === undefined ? {} : { error }),
    ...(subagent === undefined ? {} : { subagent }),
  });
  message.calls = wire.calls.map((call) => callFromWire(held, call, message));
  return message;
}

/** Takes over what a message states of a known call: its name, and its arguments unless they are left out. */
export function restateCall(call: HeldCall, wire: WireToolCall, at: number): void {
  const held = argumentText(call);
  const isLost = wire.arguments === '' || (wire.arguments === '{}' && held !== '');
  if (!isLost && wire.arguments !== held) {
    setArguments(call, '');
    appendArguments(call, wire.arguments);
    call.changedAt = at;
    call.owner.changed = true;
  }
  if (wire.name !== undefined && wire.name !== call.name) {
    call.name = wire.name;
    call.owner.changed = true;
  }
}

/** A call that came whole. It becomes the one known under its id, unless there is one. */
export function callFromWire(held: HeldMessages, wire: WireToolCall, owner: HeldMessage): HeldCall {
  const argumentTexts = wire.arguments === '' ? [] : [wire.arguments];
  const call = newCall({ id: wire.id, name: wire.name, owner, phase: 'ended', argumentTexts });
  if (!held.calls.has(call.id)) held.calls.set(call.id, call);
  return call;
}
