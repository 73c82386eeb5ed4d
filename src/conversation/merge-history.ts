import type { Exchange } from '../agui/exchange.ts';
import { isDerivedId } from '../agui/wire-message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import { aligningHistory, isUnsent } from './align.ts';
import { Branch } from './branch.ts';
import type { Message } from './message.ts';
import { reconcile } from './reconcile.ts';

/**
 * What a request's history was to the one that is held. `appended`: it was all that is held, and more. `delta`: it carried
 * only new messages, the agent remembers the rest. `forked`: it stops early or goes on differently, so a tail was cut off.
 */
export type HistoryKind = 'appended' | 'delta' | 'forked';

interface History {
  readonly kind: HistoryKind;
  readonly messages: readonly Message[];
  /** The tail that the request no longer holds. */
  readonly cut: readonly Message[];
  readonly newUserTurn: boolean;
}

/** Merges the messages of a request, a claim of history, into what is held, in steps. */
export function* mergingHistory(held: readonly Message[], exchange: Exchange): Steps<History> {
  const claimed = exchange.input;
  if (held.length === 0) {
    return { kind: 'appended', messages: claimed, cut: [], newUserTurn: claimed.some(({ role }) => role === 'user') };
  }
  const matches = yield* aligningHistory(held, claimed);
  // Here and below: each of these passes over the whole history is worth a step.
  yield;
  const edited = editedAt(held, claimed, matches);
  yield;
  // What repeats words that the edit has cut off says them anew.
  const aligned = edited === undefined ? matches : matches.map((at) => Math.max(-1, at));
  const newUserTurn = claimed.some(({ role }, at) => role === 'user' && aligned[at] === -1);
  const known = new Set(aligned.filter((at) => at >= 0));
  yield;

  // Instructions say nothing about how much of the dialogue a client holds: some send them with each new message.
  const last = held.findLastIndex((message, at) => known.has(at) && isDialogue(message));
  const stopsEarly =
    last >= 0 &&
    !exchange.resumes &&
    held.slice(last + 1).some((message) => !isUnsent(message)) &&
    !sendsUserTurnsOnly();
  const cutAt = edited ?? (stopsEarly ? last + 1 : held.length);
  const forked = cutAt < held.length;
  const kept = held.slice(0, cutAt);

  yield;
  const { messages, appended } = yield* interleaving(kept, claimed, aligned);
  const branch = yield* Branch.of(messages);
  for (const [at, message] of appended.entries()) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    // A user message under a held id says something else: it stands beside the held one, whose words were said too.
    if (message.role === 'user') branch.append(message);
    else branch.place(message, { supersedes: true, replacesResult: true });
  }
  const deltaHistory = known.size < held.length;
  return {
    kind: forked ? 'forked' : deltaHistory ? 'delta' : 'appended',
    messages: yield* branch.listing(),
    cut: held.slice(cutAt),
    newUserTurn,
  };

  /** Some thin clients keep their own side only: every user message, none of the agent's. */
  function sendsUserTurnsOnly(): boolean {
    return (
      newUserTurn &&
      claimed.every((message) => message.role !== 'assistant') &&
      held.every((message, at) => message.role !== 'user' || known.has(at))
    );
  }
}

/**
 * Where the history was cut by an edit: the held user message whose id the request sends with other words, if it sends
 * nothing of what came after. Undefined when there is none.
 */
function editedAt(
  held: readonly Message[],
  claimed: readonly Message[],
  aligned: readonly number[],
): number | undefined {
  const lastKnown = aligned.findLastIndex((at) => at >= 0);
  const furthest = aligned.reduce((most, at) => Math.max(most, at), -1);
  const candidates = claimed.filter(
    ({ role, id }, at) => role === 'user' && aligned[at] === -1 && at >= lastKnown && !isDerivedId(id),
  );
  if (candidates.length === 0) return undefined;
  const ids = new Set(candidates.map(({ id }) => id));
  const userTurns = new Map<string, number>();
  for (const [at, { role, id }] of held.entries()) {
    // Of an id that is held twice, the first counts.
    if (role === 'user' && ids.has(id) && !userTurns.has(id)) userTurns.set(id, at);
  }
  return candidates.map(({ id }) => userTurns.get(id)).find((at) => at !== undefined && at > furthest);
}

/**
 * Brings what is held up to date with the claimed copies. A new message that the client holds in front of known ones goes
 * where the client holds it, in place of the held message of its id (an edit whose answer was kept); what comes after the
 * last known one is left to be appended. In steps.
 */
function* interleaving(
  held: readonly Message[],
  claimed: readonly Message[],
  aligned: readonly number[],
): Steps<{ readonly messages: readonly Message[]; readonly appended: readonly Message[] }> {
  const messages: Message[] = [];
  const appended: Message[] = [];
  /** By index in `held`: the index in `messages`. */
  const placeOf: number[] = [];
  const lastKnown = aligned.findLastIndex((at) => at >= 0);
  const takeHeldUntil = (end: number): void => {
    for (const message of held.slice(placeOf.length, end)) placeOf.push(messages.push(message) - 1);
  };
  for (const [at, message] of claimed.entries()) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    const heldAt = aligned[at] ?? -1;
    const known = held[heldAt];
    if (known) {
      // A copy that the client holds later than it was said changes nothing about its place.
      takeHeldUntil(heldAt + 1);
      messages[placeOf[heldAt] ?? -1] = reconcile(known, message);
    } else if (heldAt === -1 && at < lastKnown) {
      const next = held[placeOf.length];
      const place = messages.push(message) - 1;
      if (next && next.id === message.id && next.role === message.role) placeOf.push(place);
    } else if (heldAt === -1) {
      appended.push(message);
    }
  }
  takeHeldUntil(held.length);
  return { messages, appended };
}

const isDialogue = (message: Message | undefined): boolean =>
  message?.role !== 'system' && message?.role !== 'developer';
