import type { Exchange } from '../agui/exchange.ts';
import { alignHistory, isUnsent } from './align.ts';
import {
  type Conversation,
  type ConversationRun,
  RUN_LIMIT,
  SUPERSEDED_LIMIT,
  threadKeyOf,
  type ThreadKey,
} from './conversation.ts';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from './message.ts';
import { isPartlyRead } from '../agui/findings.ts';
import { UNKNOWN_TOOL } from '../agui/held-message.ts';
import { isDerivedId } from '../agui/wire-message.ts';
import { Branch } from './branch.ts';

/**
 * What an exchange was to its conversation. `appended`: the request's history was all that is held. `delta`: the request
 * carried only new messages, the agent remembers the rest. `forked`: the request's history stops early or goes on
 * differently, so a tail was cut off. `replayed`: nothing new; the conversation is unchanged.
 */
export type MergeKind = 'appended' | 'delta' | 'forked' | 'replayed';

export interface Merge {
  readonly kind: MergeKind;
  readonly conversation: Conversation;
}

/**
 * Merges one exchange into its conversation. Pure: neither argument is changed.
 *
 * @param held the thread's conversation so far; absent for its first exchange.
 */
export function mergeExchange(held: Conversation | undefined, exchange: Exchange): Merge {
  const conversation = held ?? emptyConversation(threadKeyOf(exchange));
  if (isReplay(conversation, exchange)) return { kind: 'replayed', conversation };

  const history = mergeHistory(conversation.messages, exchange);
  // The collector has merged a first exchange already.
  const messages = conversation.messages.length === 0 ? exchange.messages : withOutput(history.messages, exchange);

  return {
    kind: history.kind,
    conversation: {
      key: conversation.key,
      messages: nameCalls(messages, [...conversation.openInterrupts, ...exchange.interrupts]),
      superseded:
        history.cut.length > 0
          ? [...conversation.superseded, history.cut].slice(-SUPERSEDED_LIMIT)
          : conversation.superseded,
      runs: [...conversation.runs, runOf(exchange)].slice(-RUN_LIMIT),
      openInterrupts: openInterrupts(conversation, exchange, history.newUserTurn),
      mayHaveGap: conversation.mayHaveGap || isPartlyRead(exchange.findings),
    },
  };
}

function withOutput(history: readonly Message[], exchange: Exchange): readonly Message[] {
  const branch = new Branch(history);
  const answeredBefore = resultIds(history);
  const inputIds = new Set(exchange.input.map((message) => message.id));
  const heldIds = renamedBySnapshot(history, exchange);
  for (const message of exchange.output) {
    const heldId = heldIds.get(message.id);
    if (heldId !== undefined) {
      branch.place({ ...message, id: heldId }, { supersedes: true, replacesResult: true });
      continue;
    }
    branch.place(message, {
      // With the message's beginning at hand the collector has merged it already.
      supersedes: inputIds.has(message.id),
      // A result in a later run replaces the placeholder of an earlier one; two within a run are both kept.
      replacesResult: message.role === 'tool' && answeredBefore.has(message.toolCallId),
    });
  }
  return branch.toArray();
}

const emptyConversation = (key: ThreadKey): Conversation => ({
  key,
  messages: [],
  superseded: [],
  runs: [],
  openInterrupts: [],
  mayHaveGap: false,
});

/** A `/connect`, or a run that is stored already and brings no message that is not. */
function isReplay(conversation: Conversation, exchange: Exchange): boolean {
  if (exchange.kind === 'replay') return true;
  const known = exchange.runId !== '' && conversation.runs.some((run) => run.runId === exchange.runId);
  if (!known) return false;
  const ids = new Set(conversation.messages.map((message) => message.id));
  return exchange.messages.every((message) => ids.has(message.id));
}

interface History {
  readonly kind: Exclude<MergeKind, 'replayed'>;
  readonly messages: readonly Message[];
  /** The tail that the request no longer holds. */
  readonly cut: readonly Message[];
  readonly newUserTurn: boolean;
}

function mergeHistory(held: readonly Message[], exchange: Exchange): History {
  const claimed = exchange.input;
  if (held.length === 0) {
    return { kind: 'appended', messages: claimed, cut: [], newUserTurn: claimed.some(({ role }) => role === 'user') };
  }
  const matches = alignHistory(held, claimed);
  const edited = editedAt(held, claimed, matches);
  // What repeats words that the edit has cut off says them anew.
  const aligned = edited === undefined ? matches : matches.map((at) => Math.max(-1, at));
  const newUserTurn = claimed.some(({ role }, at) => role === 'user' && aligned[at] === -1);
  const known = new Set(aligned.filter((at) => at >= 0));

  // Instructions say nothing about how much of the dialogue a client holds: some send them with each new message.
  const last = Math.max(-1, ...[...known].filter((at) => isDialogue(held[at])));
  const stopsEarly =
    last >= 0 &&
    !exchange.resumes &&
    held.slice(last + 1).some((message) => !isUnsent(message)) &&
    !sendsUserTurnsOnly();
  const cutAt = edited ?? (stopsEarly ? last + 1 : held.length);
  const forked = cutAt < held.length;
  const kept = held.slice(0, cutAt);

  const { messages, appended } = interleave(kept, claimed, aligned);
  const branch = new Branch(messages);
  for (const message of appended) {
    // A user message under a held id says something else: it stands beside the held one, whose words were said too.
    if (message.role === 'user') branch.append(message);
    else branch.place(message, { supersedes: true, replacesResult: true });
  }
  const deltaHistory = known.size < held.length;
  return {
    kind: forked ? 'forked' : deltaHistory ? 'delta' : 'appended',
    messages: branch.toArray(),
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
  for (const [at, message] of claimed.entries()) {
    if (message.role !== 'user' || aligned[at] !== -1 || at < lastKnown || isDerivedId(message.id)) continue;
    const edited = held.findIndex(({ role, id }) => role === 'user' && id === message.id);
    if (edited > Math.max(-1, ...aligned)) return edited;
  }
  return undefined;
}

/**
 * Brings what is held up to date with the claimed copies. A new message that the client holds in front of known ones goes
 * where the client holds it, in place of the held message of its id (an edit whose answer was kept); what comes after the
 * last known one is left to be appended.
 */
function interleave(
  held: readonly Message[],
  claimed: readonly Message[],
  aligned: readonly number[],
): { readonly messages: readonly Message[]; readonly appended: readonly Message[] } {
  const messages: Message[] = [];
  const appended: Message[] = [];
  /** By index in `held`: the index in `messages`. */
  const placeOf: number[] = [];
  const lastKnown = aligned.findLastIndex((at) => at >= 0);
  const takeHeldUntil = (end: number): void => {
    for (const message of held.slice(placeOf.length, end)) placeOf.push(messages.push(message) - 1);
  };
  for (const [at, message] of claimed.entries()) {
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

/** Takes from a client's later copy only what the stream could not tell. */
function reconcile(held: Message, copy: Message): Message {
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
  const news = copies.filter((copy) => !held.some((call) => call.id === copy.id));
  let changed = news.length > 0;
  const merged = held.map((call) => {
    const copy = copies.find((other) => other.id === call.id);
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

function nameCalls(messages: readonly Message[], interrupts: Exchange['interrupts']): readonly Message[] {
  const named = new Map(interrupts.map((interrupt) => [interrupt.toolCallId, interrupt]));
  return messages.map((message) => {
    if (message.role !== 'assistant' || !message.toolCalls.some((call) => call.name === UNKNOWN_TOOL)) return message;
    return {
      ...message,
      toolCalls: message.toolCalls.map((call) => {
        const interrupt = call.name === UNKNOWN_TOOL ? named.get(call.id) : undefined;
        return interrupt?.toolName ? { ...call, name: interrupt.toolName, args: interrupt.args ?? call.args } : call;
      }),
    };
  });
}

/** Interrupts are closed by the request that answers them, or by a user who went on without answering. */
function openInterrupts(conversation: Conversation, exchange: Exchange, newUserTurn: boolean): Exchange['interrupts'] {
  const stillOpen = exchange.resumes || newUserTurn ? [] : conversation.openInterrupts;
  const ids = new Set(exchange.interrupts.map((interrupt) => interrupt.id));
  return [...stillOpen.filter((interrupt) => !ids.has(interrupt.id)), ...exchange.interrupts];
}

function runOf(exchange: Exchange): ConversationRun {
  return {
    runId: exchange.runId,
    ending: exchange.ending,
    endedAt: exchange.timing.endedAt,
    ...(exchange.status !== undefined && { status: exchange.status }),
    trace: exchange.trace,
  };
}

/**
 * A snapshot often lists the whole transcript under ids of its own. Its messages that are held already, by their calls or
 * by their words beside an aligned neighbour, are found here: new id → held id.
 */
function renamedBySnapshot(history: readonly Message[], exchange: Exchange): ReadonlyMap<string, string> {
  if (!exchange.eventCounts['MESSAGES_SNAPSHOT']) return new Map();
  // It begins where the thread does, or where this request does.
  const asked = history.findIndex(({ id }) => id === exchange.input[0]?.id);
  const [best] = [0, Math.max(0, asked)]
    .map((start) => renamings(history.slice(start), exchange.messages))
    .toSorted((one, other) => other.size - one.size);
  return best ?? new Map();
}

function renamings(history: readonly Message[], messages: readonly Message[]): ReadonlyMap<string, string> {
  const aligned = alignHistory(history, messages);
  return new Map(
    messages.flatMap((message, at) => {
      const held = history[aligned[at] ?? -1];
      return held && held.id !== message.id ? [[message.id, held.id] as const] : [];
    }),
  );
}

const resultIds = (messages: readonly Message[]) =>
  new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
