import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { FindingCode } from './findings.ts';
import { type HeldMessage, heldText, setText } from './held-message.ts';
import { callFromWire, fromWire, type HeldMessages, inOrder, replaceAll, restateCall } from './held-messages.ts';
import { answerKey, matchingMessages } from './match-snapshot.ts';
import type { WireMessage, WireToolCall } from './wire-message.ts';

export interface SnapshotContext {
  /** Index of the event. */
  readonly at: number;
  readonly note: (code: FindingCode, id: string) => void;
}

/**
 * Merges a MESSAGES_SNAPSHOT into what is held. Its order and its ids win. Ids of a snapshot often differ from the
 * streamed ones, so {@link matchingMessages} says which is which. What the snapshot lacks is kept, marked, behind the message it
 * followed. In steps: `held` is whole only after the last.
 */
export function* mergingSnapshot(
  held: HeldMessages,
  snapshot: readonly WireMessage[],
  context: SnapshotContext,
): Steps<void> {
  const before = inOrder(held);
  const wires = withoutRepeats(snapshot);
  yield;
  const { matches, joined } = yield* matchingMessages(held, before, wires);
  yield;
  const claimed = {
    calls: new Set(wires.flatMap(({ calls }) => calls.map(({ id }) => id))),
    texts: new Set(wires.filter(({ role }) => role === 'assistant').map(({ text }) => text)),
  };

  const merged: HeldMessage[] = [];
  for (const wire of wires) {
    const message = matches.get(wire) ?? fromWire(held, { ...wire, calls: [] }, false);
    update(held, message, wire, claimed, context.at);
    if (merged.push(message) % ITEMS_PER_STEP === 0) yield;
  }

  const stated = new Set(merged);
  const absorbed = new Set<HeldMessage>();
  for (const [index, message] of before.entries()) {
    if (index % ITEMS_PER_STEP === 0) yield;
    if (stated.has(message)) continue;
    const heir = joined.get(message) ?? absorber(message);
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
  const woven = weave(before, merged, stated, absorbed);
  yield;
  replaceAll(held, woven);
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

interface Claimed {
  readonly calls: ReadonlySet<string>;
  readonly texts: ReadonlySet<string>;
}

function update(held: HeldMessages, message: HeldMessage, wire: WireMessage, claimed: Claimed, at: number): void {
  const isUnderWay = message.open && message.id !== wire.id;
  if (message.id !== wire.id || message.role !== wire.role) message.changed = true;
  message.id = wire.id;
  message.role = wire.role;
  if (wire.role !== 'tool') held.byId.set(wire.id, message);
  message.snapshotOmits = false;
  message.provisional = false;

  const text = heldText(message);
  // Text that was streamed and that the snapshot has nowhere is not lost.
  const isLost = wire.text === '' && text !== '' && !(message.role === 'assistant' && claimed.texts.has(text));
  const isBehind = isUnderWay && wire.text.trim() !== '' && text.startsWith(wire.text.trimEnd());
  if (!isBehind) {
    const newText = isLost ? text : wire.text;
    if (newText !== text) message.changed = true;
    setText(message, newText);
    // The stream goes on where it was, and not where the snapshot is.
    if (isUnderWay && text !== '' && newText.startsWith(text)) message.aheadBy = newText.length - text.length;
  }
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
    if (known) restateCall(known, wire, at);
    else call.changedAt = at;
    if (!known || call.owner !== message) message.changed = true;
    call.owner = message;
    return call;
  });
  const rest = message.calls.filter((call) => call.owner === message && !claimed.has(call.id));
  message.calls = [...stated, ...rest];
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
