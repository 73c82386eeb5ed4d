import type { Exchange } from '../agui/exchange.ts';
import { isPartlyRead } from '../agui/findings.ts';
import { UNKNOWN_TOOL } from '../agui/held-message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import { aligningHistory } from './align.ts';
import { Branch } from './branch.ts';
import {
  type Conversation,
  type ConversationRun,
  RUN_LIMIT,
  SUPERSEDED_LIMIT,
  threadKeyOf,
  type ThreadKey,
} from './conversation.ts';
import { type HistoryKind, mergingHistory } from './merge-history.ts';
import type { Message } from './message.ts';
import { withoutArguments, withoutWords } from './without-words.ts';

/**
 * What an exchange was to its conversation. `replayed`: nothing new; the conversation is unchanged. `unmerged`: nothing of its
 * words is kept, since the conversation may have a gap and is never judged.
 */
export type MergeKind = HistoryKind | 'replayed' | 'unmerged';

export interface Merge {
  readonly kind: MergeKind;
  readonly conversation: Conversation;
}

/**
 * Merges one exchange into its conversation, in steps. Pure: neither argument is changed.
 *
 * @param held the thread's conversation so far; absent for its first exchange.
 */
export function* mergingExchange(held: Conversation | undefined, exchange: Exchange): Steps<Merge> {
  const conversation = held ?? emptyConversation(threadKeyOf(exchange));
  if (isReplay(conversation, exchange)) return { kind: 'replayed', conversation };
  if (conversation.mayHaveGap || isPartlyRead(exchange.findings)) {
    return { kind: 'unmerged', conversation: outlined(conversation, exchange) };
  }

  const history = yield* mergingHistory(conversation.messages, exchange);
  // The collector has merged a first exchange already.
  const isFirst = conversation.messages.length === 0;
  const messages = isFirst ? exchange.messages : yield* addingOutput(history.messages, exchange);
  yield;
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
      mayHaveGap: false,
    },
  };
}

/**
 * A conversation that can no longer be judged, with one run more. What is kept of it says when it is to close, and which runs
 * it has had; nothing of what was said.
 */
function outlined(conversation: Conversation, exchange: Exchange): Conversation {
  const held = new Set(conversation.messages.map(({ id }) => id));
  const newUserTurn = exchange.input.some(({ role, id }) => role === 'user' && !held.has(id));
  return {
    key: conversation.key,
    messages: withoutWords(exchange.messages.length > 0 ? exchange.messages : conversation.messages),
    superseded: [],
    runs: [...conversation.runs, runOf(exchange)].slice(-RUN_LIMIT),
    openInterrupts: withoutArguments(openInterrupts(conversation, exchange, newUserTurn)),
    mayHaveGap: true,
  };
}

function* addingOutput(history: readonly Message[], exchange: Exchange): Steps<readonly Message[]> {
  const branch = yield* Branch.of(history);
  const answeredBefore = resultIds(history);
  yield;
  const inputIds = new Set(exchange.input.map((message) => message.id));
  yield;
  const heldIds = yield* findingRenamed(history, exchange);
  for (const [at, message] of exchange.output.entries()) {
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
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
  return yield* branch.listing();
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
  // Of its earlier runs no messages are held.
  if (conversation.mayHaveGap) return true;
  const ids = new Set(conversation.messages.map((message) => message.id));
  return exchange.messages.every((message) => ids.has(message.id));
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
function* findingRenamed(history: readonly Message[], exchange: Exchange): Steps<ReadonlyMap<string, string>> {
  if (!exchange.eventCounts['MESSAGES_SNAPSHOT']) return new Map();
  // It begins where the thread does, or where this request does.
  const asked = history.findIndex(({ id }) => id === exchange.input[0]?.id);
  const fromStart = yield* aligningIds(history, exchange.messages);
  if (asked <= 0) return fromStart;
  const fromRequest = yield* aligningIds(history.slice(asked), exchange.messages);
  return fromRequest.size > fromStart.size ? fromRequest : fromStart;
}

function* aligningIds(history: readonly Message[], messages: readonly Message[]): Steps<ReadonlyMap<string, string>> {
  const aligned = yield* aligningHistory(history, messages);
  return new Map(
    messages.flatMap((message, at) => {
      const held = history[aligned[at] ?? -1];
      return held && held.id !== message.id ? [[message.id, held.id] as const] : [];
    }),
  );
}

const resultIds = (messages: readonly Message[]) =>
  new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
