import type { FindingCode } from './findings.ts';
import { appendArguments, argumentText, type HeldCall, setArguments } from './held-call.ts';
import { type HeldMessage, heldText, setText } from './held-message.ts';
import { callFromWire, fromWire, type HeldMessages, inOrder, replaceAll } from './held-messages.ts';
import type { WireMessage, WireToolCall } from './wire-message.ts';

export interface SnapshotContext {
  /** Index of the event. */
  readonly at: number;
  readonly note: (code: FindingCode, id: string) => void;
}

/**
 * Merges a MESSAGES_SNAPSHOT into what is held. Its order and its ids win. Ids of a snapshot often differ from the
 * streamed ones, so messages are matched by id first, tool messages then by call, assistant messages by their calls and
 * then by text, other messages by text. What the snapshot lacks is kept, marked, behind the message it followed.
 */
export function mergeSnapshot(held: HeldMessages, snapshot: readonly WireMessage[], context: SnapshotContext): void {
  const before = inOrder(held);
  const wires = withoutRepeats(snapshot);
  const matches = matchMessages(held, before, wires);
  const claimed = {
    calls: new Set(wires.flatMap(({ calls }) => calls.map(({ id }) => id))),
    texts: new Set(wires.filter(({ role }) => role === 'assistant').map(({ text }) => text)),
  };

  const merged = wires.map((wire) => {
    const message = matches.get(wire) ?? fromWire(held, { ...wire, calls: [] }, false);
    update(held, message, wire, claimed, context.at);
    return message;
  });

  const stated = new Set(merged);
  const absorbed = new Set<HeldMessage>();
  for (const message of before) {
    if (stated.has(message)) continue;
    const heir = absorber(message);
    if (heir) {
      absorbed.add(message);
      held.byId.set(message.id, heir);
    } else if (!message.snapshotOmits) {
      context.note('snapshot_omits', message.id);
      message.snapshotOmits = true;
      message.changed = true;
    }
    if (message.calls.length > 0) message.calls = message.calls.filter(({ owner }) => owner === message);
  }
  replaceAll(held, weave(before, merged, stated, absorbed));
}

/** The message that has taken over all of an assistant message's calls, when it held nothing else. */
function absorber(message: HeldMessage): HeldMessage | undefined {
  const owner = message.calls[0]?.owner;
  if (owner === undefined || owner === message) return undefined;
  const isEmpty = !message.open && heldText(message) === '' && message.calls.every((call) => call.owner !== message);
  return isEmpty ? owner : undefined;
}

/** The last of several messages of one id counts. Tool messages may share one: they are told apart by their call. */
function withoutRepeats(snapshot: readonly WireMessage[]): WireMessage[] {
  const byKey = new Map<string, WireMessage>();
  for (const wire of snapshot) {
    byKey.set(wire.role === 'tool' ? `tool:${answerKey(wire)}` : `message:${wire.id}`, wire);
  }
  return [...byKey.values()];
}

/** For each message of the snapshot the held one it speaks of, where there is one. No held message is taken twice. */
function matchMessages(
  held: HeldMessages,
  before: readonly HeldMessage[],
  wires: readonly WireMessage[],
): Map<WireMessage, HeldMessage> {
  const matches = new Map<WireMessage, HeldMessage>();
  const taken = new Set<HeldMessage>();
  const take = (wire: WireMessage, message: HeldMessage | undefined): boolean => {
    if (!message || taken.has(message)) return false;
    taken.add(message);
    matches.set(wire, message);
    return true;
  };

  const answers = before.filter(({ role }) => role === 'tool');
  const byAnswer = queuesBy(answers, (message) => answerKey(message));
  const unmatched = wires.filter(
    (wire) => !take(wire, wire.role === 'tool' ? byAnswer.get(answerKey(wire))?.at(-1) : held.byId.get(wire.id)),
  );
  if (unmatched.length === 0) return matches;

  const byText = queuesBy(before, (message) => textKey(message.role, heldText(message)));
  // Keys of many calls cost; most snapshots need none.
  const callers = unmatched.some(({ calls }) => calls.length > 0) ? before : [];
  const byCalls = queuesBy(callers, (message) => callsKey(message.calls));
  const byAnswered = queuesBy(answers, ({ toolCallId }) => toolCallId);
  const takeFirst = (wire: WireMessage, queue: HeldMessage[] | undefined): boolean => {
    for (let message = queue?.pop(); message; message = queue?.pop()) if (take(wire, message)) return true;
    return false;
  };
  const remaining = unmatched.filter(
    (wire) =>
      !takeFirst(wire, wire.role === 'tool' ? byAnswered.get(wire.toolCallId) : byCalls.get(callsKey(wire.calls))),
  );
  const last = remaining.filter(
    (wire) => wire.role !== 'tool' && !takeFirst(wire, byText.get(textKey(wire.role, wire.text))),
  );
  // A message that gathers calls which were streamed apart, or holds some of those that were streamed together.
  for (const wire of last) wire.calls.some((call) => take(wire, textlessOwner(held, call.id)));
  return matches;
}

function textlessOwner(held: HeldMessages, callId: string): HeldMessage | undefined {
  const owner = held.calls.get(callId)?.owner;
  return owner && heldText(owner) === '' ? owner : undefined;
}

/** Messages under their key, the first of each last, so that `pop` takes them in order. */
function queuesBy(
  messages: readonly HeldMessage[],
  key: (message: HeldMessage) => string | undefined,
): Map<string | undefined, HeldMessage[]> {
  const queues = Map.groupBy(messages.toReversed(), key);
  queues.delete(undefined);
  return queues;
}

/** A tool message is told apart by its call, too: some producers give all results one id. */
const answerKey = ({ id, toolCallId }: Pick<WireMessage, 'id' | 'toolCallId'>): string =>
  `${id.length}:${id}${toolCallId}`;

const textKey = (role: string, text: string): string | undefined =>
  text.trim() === '' ? undefined : `${role}:${text.trim()}`;

const callsKey = (calls: readonly { readonly id: string }[]): string | undefined =>
  calls.length === 0 ? undefined : JSON.stringify(calls.map(({ id }) => id).toSorted());

interface Claimed {
  readonly calls: ReadonlySet<string>;
  readonly texts: ReadonlySet<string>;
}

function update(held: HeldMessages, message: HeldMessage, wire: WireMessage, claimed: Claimed, at: number): void {
  if (message.id !== wire.id || message.role !== wire.role) message.changed = true;
  message.id = wire.id;
  message.role = wire.role;
  if (wire.role !== 'tool') held.byId.set(wire.id, message);
  message.snapshotOmits = false;

  const text = heldText(message);
  // Text that was streamed and that the snapshot has nowhere is not lost.
  const isLost = wire.text === '' && text !== '' && !(message.role === 'assistant' && claimed.texts.has(text));
  const newText = isLost ? text : wire.text;
  if (newText !== text) message.changed = true;
  setText(message, newText);
  if (wire.attachments.length > 0) message.attachments = wire.attachments;
  updateCalls(held, message, wire.calls, claimed.calls, at);
}

function updateCalls(
  held: HeldMessages,
  message: HeldMessage,
  wires: readonly WireToolCall[],
  claimed: ReadonlySet<string>,
  at: number,
): void {
  const stated = wires.map((wire) => {
    const known = held.calls.get(wire.id);
    const call = known ?? callFromWire(held, wire, message);
    if (known) updateCall(known, wire, at);
    else call.changedAt = at;
    if (!known || call.owner !== message) message.changed = true;
    call.owner = message;
    return call;
  });
  const rest = message.calls.filter((call) => call.owner === message && !claimed.has(call.id));
  message.calls = [...stated, ...rest];
}

function updateCall(call: HeldCall, wire: WireToolCall, at: number): void {
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

/** The snapshot's messages in its order, each followed by the omitted ones that stood behind it. */
function weave(
  before: readonly HeldMessage[],
  merged: readonly HeldMessage[],
  stated: ReadonlySet<HeldMessage>,
  absorbed: ReadonlySet<HeldMessage>,
): HeldMessage[] {
  const woven: HeldMessage[] = [];
  const following = new Map<HeldMessage, HeldMessage[]>();
  let place = woven;
  for (const message of before) {
    if (stated.has(message)) {
      place = [];
      following.set(message, place);
    } else if (!absorbed.has(message)) place.push(message);
  }
  for (const message of merged) {
    woven.push(message);
    for (const omitted of following.get(message) ?? []) woven.push(omitted);
  }
  return woven;
}
