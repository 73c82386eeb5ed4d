import type { Exchange } from '../agui/exchange.ts';
import { isPartlyRead } from '../agui/findings.ts';
import { UNKNOWN_TOOL } from '../agui/held-message.ts';
import { alignHistory } from './align.ts';
import { Branch } from './branch.ts';
import {
  type Conversation,
  type ConversationRun,
  RUN_LIMIT,
  SUPERSEDED_LIMIT,
  threadKeyOf,
  type ThreadKey,
} from './conversation.ts';
import { type HistoryKind, mergeHistory } from './merge-history.ts';
import type { Message } from './message.ts';

/** What an exchange was to its conversation. `replayed`: nothing new; the conversation is unchanged. */
export type MergeKind = HistoryKind | 'replayed';

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
