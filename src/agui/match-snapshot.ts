import type { Steps } from '../lib/steps.ts';
import { type HeldMessage, heldText } from './held-message.ts';
import type { HeldMessages } from './held-messages.ts';
import type { WireMessage } from './wire-message.ts';

export interface Matches {
  readonly matches: ReadonlyMap<WireMessage, HeldMessage>;
  /** Held messages whose text is part of another's, and the match that takes it over. */
  readonly joined: ReadonlyMap<HeldMessage, HeldMessage>;
}

/**
 * For each message of a snapshot the held one it speaks of, where there is one: by id first, tool messages then by call,
 * assistant messages by their calls and then by text, other messages by text. Text and calls may have been streamed
 * apart, and a text in pieces or not yet to its end. No held message is taken twice. Each pass over all of them is a step.
 *
 * @param before all held messages, in order.
 * @param wires the snapshot's, without repeats.
 */
export function* matchingMessages(
  held: HeldMessages,
  before: readonly HeldMessage[],
  wires: readonly WireMessage[],
): Steps<Matches> {
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
  yield;
  if (unmatched.length === 0) return { matches, joined: matchTexts(before, wires, matches, taken) };

  const byText = queuesBy(before, (message) => textKey(message.role, heldText(message)));
  yield;
  // Keys of many calls cost; most snapshots need none.
  const callers = unmatched.some(({ calls }) => calls.length > 0) ? before : [];
  const byCalls = queuesBy(callers, (message) => callsKey(message.calls));
  const byAnswered = queuesBy(answers, ({ toolCallId }) => toolCallId);
  const takeFirst = (wire: WireMessage, queue: HeldMessage[] | undefined): boolean => {
    for (let message = queue?.pop(); message; message = queue?.pop()) if (take(wire, message)) return true;
    return false;
  };
  yield;
  const remaining = unmatched.filter(
    (wire) =>
      !takeFirst(wire, wire.role === 'tool' ? byAnswered.get(wire.toolCallId) : byCalls.get(callsKey(wire.calls))),
  );
  yield;
  const last = remaining.filter(
    (wire) => wire.role !== 'tool' && !takeFirst(wire, byText.get(textKey(wire.role, wire.text))),
  );
  // A message that gathers calls which were streamed apart, or holds some of those that were streamed together.
  for (const wire of last) wire.calls.some((call) => take(wire, textlessOwner(held, call.id)));
  yield;
  return { matches, joined: matchTexts(before, wires, matches, taken) };
}

function textlessOwner(held: HeldMessages, callId: string): HeldMessage | undefined {
  const owner = held.calls.get(callId)?.owner;
  return owner && heldText(owner) === '' ? owner : undefined;
}

/** Items under their key, the first of each last, so that `pop` takes them in order. */
function queuesBy<Item>(
  items: readonly Item[],
  key: (item: Item) => string | undefined,
): Map<string | undefined, Item[]> {
  const queues = Map.groupBy(items.toReversed(), key);
  queues.delete(undefined);
  return queues;
}

/** A tool message is told apart by its call, too: some producers give all results one id. */
export const answerKey = ({ id, toolCallId }: Pick<WireMessage, 'id' | 'toolCallId'>): string =>
  `${id.length}:${id}${toolCallId}`;

const textKey = (role: string, text: string): string | undefined =>
  text.trim() === '' ? undefined : `${role}:${text.trim()}`;

const callsKey = (calls: readonly { readonly id: string }[]): string | undefined =>
  calls.length === 0 ? undefined : JSON.stringify(calls.map(({ id }) => id).toSorted());

/**
 * Finds the text of those messages of the snapshot that have no match, or one that holds nothing but their calls. Adds to
 * `matches` and `taken`; returns what else was joined to a match.
 */
function matchTexts(
  before: readonly HeldMessage[],
  wires: readonly WireMessage[],
  matches: Map<WireMessage, HeldMessage>,
  taken: Set<HeldMessage>,
): Map<HeldMessage, HeldMessage> {
  const joined = new Map<HeldMessage, HeldMessage>();
  const lacking = wires.filter((wire) => lacksText(wire, matches.get(wire)));
  if (lacking.length === 0) return joined;

  const runs = textRuns(before, taken);
  const byText = queuesBy(runs, ({ text, parts }) => (parts.length > 1 ? textKey('', text) : undefined));
  const byTurn = queuesBy(runs, ({ text, turn }) => textKey(`${turn}`, text));
  const turns = turnsOf(before);
  const underWay = before.findLast(({ open, role }) => open && role === 'assistant');
  const lastSaid = wires.findLast(({ role }) => role !== 'tool');

  for (const wire of lacking) {
    const calls = matches.get(wire);
    const queue = calls ? byTurn.get(textKey(`${turns.get(calls)}`, wire.text)) : byText.get(textKey('', wire.text));
    const run = takeUntaken(queue, taken);
    const isUnderWay = wire === lastSaid && underWay && !taken.has(underWay) && overlaps(wire.text, heldText(underWay));
    const parts = run?.parts ?? (isUnderWay ? [underWay] : []);
    const holder = parts.at(-1);
    if (!holder) continue;
    matches.set(wire, holder);
    for (const part of parts) {
      taken.add(part);
      if (part !== holder) joined.set(part, holder);
    }
  }
  return joined;
}

function lacksText(wire: WireMessage, match: HeldMessage | undefined): boolean {
  if (wire.role !== 'assistant' || wire.text.trim() === '') return false;
  if (!match) return true;
  if (match.calls.length === 0 || match.open || heldText(match) !== '') return false;
  const stated = new Set(wire.calls.map(({ id }) => id));
  return match.calls.every(({ id }) => stated.has(id));
}

/** Neighbouring texts of the assistant that the snapshot does not have as they are. The last may still be open. */
interface TextRun {
  readonly parts: readonly HeldMessage[];
  readonly text: string;
  /** Number of user messages before it. */
  readonly turn: number;
}

/** Each text alone, and what neighbours come to together: some producers give every piece of an answer an id of its own. */
function textRuns(before: readonly HeldMessage[], taken: ReadonlySet<HeldMessage>): TextRun[] {
  const runs: TextRun[] = [];
  let parts: HeldMessage[] = [];
  let turn = 0;
  const end = (): void => {
    if (parts.length > 1) runs.push({ parts, text: parts.map((part) => heldText(part)).join(''), turn });
    parts = [];
  };
  for (const message of before) {
    const text = heldText(message);
    const isText = message.role === 'assistant' && message.calls.length === 0 && text !== '';
    if (isText && !taken.has(message)) {
      runs.push({ parts: [message], text, turn });
      parts.push(message);
      if (message.open) end();
    } else end();
    if (message.role === 'user') turn += 1;
  }
  end();
  return runs;
}

function turnsOf(before: readonly HeldMessage[]): Map<HeldMessage, number> {
  let turn = 0;
  return new Map(before.map((message) => [message, message.role === 'user' ? turn++ : turn]));
}

function takeUntaken(queue: TextRun[] | undefined, taken: ReadonlySet<HeldMessage>): TextRun | undefined {
  for (let run = queue?.pop(); run; run = queue?.pop()) if (run.parts.every((part) => !taken.has(part))) return run;
  return undefined;
}

/** One of them is the beginning of the other. */
const overlaps = (one: string, other: string): boolean =>
  one.trim() !== '' && other.trim() !== '' && (one.startsWith(other) || other.startsWith(one));
