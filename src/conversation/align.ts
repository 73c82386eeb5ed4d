import { isDeepStrictEqual } from 'node:util';
import { isDerivedId } from '../agui/wire-message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { AssistantMessage, Message } from './message.ts';

/**
 * Finds, for each message of a request's claimed history, the held message it is a copy of, in steps.
 *
 * Tried in this order: id; tool call id (tool messages); set of call ids (assistant messages); role and text, if the
 * message before it is aligned to the held neighbour. Each held message is used once. A user message whose id is held
 * but whose text differs is an edit and is not aligned.
 *
 * @returns for each claimed message the index of its held message, `-1` for a new one, less for one to be left out.
 */
export function* aligningHistory(held: readonly Message[], claimed: readonly Message[]): Steps<number[]> {
  const index = yield* HeldIndex.of(held);
  const aligned: number[] = [];
  // One message alone has no neighbours: a user who says "yes" again has not asked for the first "yes" once more.
  let previous = claimed.length > 1 ? -1 : Number.NaN;
  for (const [at, message] of claimed.entries()) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    const match = index.find(message, previous);
    if (match >= 0) {
      index.use(match);
      previous = match;
    } else {
      // A new message has no held neighbour, so nothing behind it can be matched by text alone.
      previous = Number.NaN;
    }
    aligned.push(match);
  }
  yield* markingRepeats(held, claimed, aligned);
  return aligned;
}

/** Stands for a claimed message that repeats a stretch of history under new ids (some converters strip the ids). */
const REPEATED = -2;

class HeldIndex {
  readonly #held: readonly Message[];
  readonly #byId = new Map<string, number>();
  readonly #byToolCallId = new Map<string, number>();
  readonly #byCallIds = new Map<string, number>();
  readonly #used: boolean[] = [];

  private constructor(held: readonly Message[]) {
    this.#held = held;
  }

  /** An index of these messages, made in steps. */
  static *of(held: readonly Message[]): Steps<HeldIndex> {
    const index = new HeldIndex(held);
    for (const [at, message] of held.entries()) {
      if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
      index.#add(at, message);
    }
    return index;
  }

  #add(at: number, message: Message): void {
    this.#used.push(false);
    this.#byId.set(message.id, at);
    // The last result of a call is the one a later copy stands for: earlier ones were placeholders.
    if (message.role === 'tool') this.#byToolCallId.set(message.toolCallId, at);
    if (message.role === 'assistant' && message.toolCalls.length > 0) this.#byCallIds.set(callIds(message), at);
  }

  find(message: Message, previous: number): number {
    const sameId = isDerivedId(message.id) ? undefined : this.#byId.get(message.id);
    if (sameId !== undefined && this.#fits(sameId, message)) {
      return isEdit(this.#held[sameId], message) ? -1 : sameId;
    }
    if (message.role === 'tool') {
      const sameCall = this.#byToolCallId.get(message.toolCallId);
      if (sameCall !== undefined && this.#fits(sameCall, message)) return sameCall;
    }
    if (message.role === 'assistant' && message.toolCalls.length > 0) {
      const sameCalls = this.#byCallIds.get(callIds(message));
      if (sameCalls !== undefined && this.#fits(sameCalls, message)) return sameCalls;
    }
    const neighbour = this.#neighbour(previous);
    const candidate = this.#held[neighbour];
    return candidate && this.#fits(neighbour, message) && sameContent(candidate, message) ? neighbour : -1;
  }

  use(at: number): void {
    this.#used[at] = true;
  }

  #fits(at: number, message: Message): boolean {
    return this.#used[at] !== true && this.#held[at]?.role === message.role;
  }

  /** The next held message that a client is expected to hold too. */
  #neighbour(previous: number): number {
    let at = previous + 1;
    while (this.#held[at] && isUnsent(this.#held[at])) at += 1;
    return at;
  }
}

/** Messages that clients may well not send back: kept by us although the agent's snapshot or the client dropped them. */
export function isUnsent(message: Message | undefined): boolean {
  return message?.snapshotOmits === true || message?.subagent !== undefined;
}

function isEdit(held: Message | undefined, claimed: Message): boolean {
  return claimed.role === 'user' && held?.text !== claimed.text;
}

function sameContent(held: Message, claimed: Message): boolean {
  if (held.role !== claimed.role || !sameWords(held.text, claimed.text)) return false;
  if (held.role !== 'assistant' || claimed.role !== 'assistant') return true;
  return isDeepStrictEqual(callShapes(held), callShapes(claimed));
}

const callShapes = (message: AssistantMessage) => message.toolCalls.map(({ name, args }) => ({ name, args }));

const sameWords = (one: string, other: string): boolean => one === other || canonicalText(one) === canonicalText(other);

const canonicalText = (text: string) => text.normalize('NFC').replace(/\s+/gu, ' ').trim();

const callIds = (message: AssistantMessage) => JSON.stringify(message.toolCalls.map((call) => call.id).toSorted());

/**
 * A new user message followed by a new assistant message, both word for word a pair that is held already: the agent's
 * words all pass through the stream first, so a reply that nobody streamed is a copy.
 */
function* markingRepeats(held: readonly Message[], claimed: readonly Message[], aligned: number[]): Steps<void> {
  // Keys cost as much as there are words, and few requests need any.
  let pairs: Set<string> | undefined;
  for (let at = 0; at + 1 < claimed.length; at += 1) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    if (aligned[at] !== -1 || aligned[at + 1] !== -1) continue;
    if (claimed[at]?.role !== 'user' || claimed[at + 1]?.role !== 'assistant') continue;
    pairs ??= yield* collectingPairs(held);
    if (!pairs.has(pairKey(claimed[at], claimed[at + 1]))) continue;
    aligned[at] = REPEATED;
    aligned[at + 1] = REPEATED;
  }
}

function* collectingPairs(held: readonly Message[]): Steps<Set<string>> {
  const pairs = new Set<string>();
  for (const [at, first] of held.entries()) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    const second = held[at + 1];
    if (first.role === 'user' && second?.role === 'assistant') pairs.add(pairKey(first, second));
  }
  return pairs;
}

function pairKey(first: Message | undefined, second: Message | undefined): string {
  return JSON.stringify([first, second].map((message) => message && [message.role, canonicalText(message.text)]));
}
