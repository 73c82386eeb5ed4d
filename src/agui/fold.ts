import type { Message } from '../conversation/message.ts';
import type { JsonValue } from '../lib/json.ts';
import { atOnce, ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { StreamEvent } from './events.ts';
import type { Ending, Interrupt, ObservedToolCall, Run } from './exchange.ts';
import { createChunkExpander } from './expand-chunks.ts';
import type { DroppedFindings, Finding, FindingCode } from './findings.ts';
import { applyCall } from './fold-calls.ts';
import { applyRun, ensureRun } from './fold-runs.ts';
import {
  closeOpen,
  createFoldState,
  currentRun,
  type FoldStart,
  type FoldState,
  isLate,
  note,
  raiseInterrupt,
} from './fold-state.ts';
import { applyText } from './fold-text.ts';
import { callState, type HeldCall, isUnparsed } from './held-call.ts';
import { toMessage, UNKNOWN_TOOL } from './held-message.ts';
import { append, fromWire, inOrder } from './held-messages.ts';
import { mergeSnapshot } from './merge-snapshot.ts';
import { readEvent } from './read-event.ts';
import { endingOf, type StreamEnd, toRun } from './run-log.ts';
import { readWireMessages } from './wire-message.ts';

/** One exchange's stream, folded. */
export interface Folded {
  readonly runs: readonly Run[];
  readonly ending: Ending;
  /** The request's messages as they were before the first event. */
  readonly input: readonly Message[];
  readonly output: readonly Message[];
  readonly messages: readonly Message[];
  readonly interrupts: readonly Interrupt[];
  readonly findings: readonly Finding[];
  /** Those beyond the bound of what is kept, by code. */
  readonly findingsDropped: readonly DroppedFindings[];
  readonly eventCounts: Readonly<Record<string, number>>;
  readonly toolCalls: readonly ObservedToolCall[];
  readonly firstEventAt?: number;
  readonly firstContentAt?: number;
}

/** False for a stream of something else, such as a chat completion: it has none of AG-UI's types. */
export const holdsEvents = (folded: Folded): boolean =>
  folded.runs.length > 0 || Object.keys(folded.eventCounts).some((type) => type !== 'other');

/** Folds a stream of events into messages and runs. Never throws; what it repairs it notes as findings. */
export interface Fold {
  /** Takes the next event. `arrivedAt` is in epoch milliseconds. */
  push(event: JsonValue, origin?: EventArrival): void;
  /** Counts a position of the stream that holds no event, and notes why. */
  skip(code: FindingCode, id: string): void;
  /** Notes something about the stream, at the position of the event to come. */
  note(code: FindingCode, id: string): void;
  /** To be called once, after the last event. */
  finish(end: StreamEnd): Folded;
  /** The same in steps of {@link ITEMS_PER_STEP} items at most, for callers that let other work in between. */
  finishing(end: StreamEnd): Steps<Folded>;
  /** What was looked at so far, in items: an event is one, and so is each message that it concerns as a whole. */
  work(): number;
}

interface EventArrival {
  readonly sseName?: string;
  readonly arrivedAt?: number;
}

const NOTHING_KNOWN: FoldStart = { threadId: '', runId: '', messages: [], interrupts: [] };

export const createFold = (start: FoldStart = NOTHING_KNOWN): Fold => atOnce(openFold(start));

/** Makes a fold in steps of {@link ITEMS_PER_STEP} items at most: a request may bring a long history. */
export function* openFold(start: FoldStart): Steps<Fold> {
  const state = createFoldState(start);
  for (const [index, wire] of start.messages.entries()) {
    if (index % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    append(state.held, fromWire(state.held, wire, true));
  }
  const input = yield* materialise(state);

  const counts = new Map<string, number>();
  const expander = createChunkExpander(
    (event) => apply(state, event),
    (id) => note(state, 'malformed_event', id),
  );
  let firstEventAt: number | undefined;
  let firstContentAt: number | undefined;
  let next = 0;

  const begin = (): void => {
    state.at = next;
    next += 1;
    state.work += 1;
  };

  const finishing = (end: StreamEnd): Steps<Folded> =>
    finishFold(
      state,
      {
        at: next,
        counts,
        input,
        ...(firstEventAt === undefined ? {} : { firstEventAt }),
        ...(firstContentAt === undefined ? {} : { firstContentAt }),
      },
      end,
    );

  return {
    push: (value, { sseName, arrivedAt } = {}) => {
      if (state.isExhausted) return;
      begin();
      state.arrivedAt = arrivedAt;
      const origin = sseName === undefined ? { at: state.at } : { at: state.at, sseName };
      const { event, countedAs } = readEvent(value, origin, (code, id) => note(state, code, id));
      counts.set(countedAs, (counts.get(countedAs) ?? 0) + 1);
      firstEventAt ??= arrivedAt;
      if (isContent(event)) firstContentAt ??= arrivedAt;
      if (event.kind === 'ignored' && countedAs === 'other') return;
      if (isLate(state) && !mayFollowTheEnd(event, currentRun(state)?.ending)) {
        note(state, 'event_after_end', countedAs);
      }
      if (event.kind !== 'run_started') ensureRun(state, event.kind !== 'run_error');
      expander.push(event, state.at);
    },
    skip: (code, id) => {
      if (state.isExhausted) return;
      begin();
      note(state, code, id);
    },
    note: (code, id) => {
      state.at = next;
      note(state, code, id);
    },
    finish: (end) => atOnce(finishing(end)),
    finishing,
    work: () => state.work,
  };
}

/** What a fold has noted beside its state. */
interface Noted extends Pick<Folded, 'input' | 'firstEventAt' | 'firstContentAt'> {
  /** Position of the end. */
  readonly at: number;
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Not inside of {@link openFold}: a generator function that is made anew for each fold brings a hidden class of its own, and
 * with it V8 keeps all that the fold refers to until its next full collection.
 */
function* finishFold(state: FoldState, { at, counts, ...noted }: Noted, end: StreamEnd): Steps<Folded> {
  state.at = at;
  const { runs, ending } = endRuns(state, end);
  nameCalls(state);
  yield;
  yield* noteCalls(state);
  const messages = yield* materialise(state);
  const changed = inOrder(state.held).map((message) => message.changed);
  return {
    runs,
    ending,
    ...noted,
    output: messages.filter((_, index) => changed[index]),
    messages,
    interrupts: state.interrupts,
    findings: state.log.findings(),
    findingsDropped: state.log.dropped(),
    eventCounts: Object.fromEntries(counts),
    toolCalls: observedCalls(state),
  };
}

function apply(state: FoldState, event: StreamEvent): void {
  switch (event.kind) {
    case 'run_started':
    case 'run_finished':
    case 'run_error':
    case 'run_cancelled':
      applyRun(state, event);
      return;
    case 'text_start':
    case 'text_content':
    case 'text_end':
      applyText(state, event, event.subagent);
      return;
    case 'call_start':
    case 'call_named':
    case 'call_args':
    case 'call_end':
    case 'call_result':
      applyCall(state, event, event.subagent);
      return;
    case 'messages_snapshot':
      applySnapshot(state, event.messages);
      return;
    case 'interrupt': {
      const run = currentRun(state);
      if (run) run.interrupted = true;
      const { interrupt } = event;
      if (raiseInterrupt(state, interrupt) && run && interrupt.toolCallId === undefined) {
        state.unnamedInterrupts.push({ id: interrupt.id, run: run.number });
      }
      return;
    }
    case 'reasoning':
    case 'reasoning_chunk':
    case 'activity':
      if (event.id !== undefined) state.held.otherIds.add(event.id);
      return;
    default:
  }
}

/**
 * Most messages and calls that the snapshots of one stream may be compared with, in sum. A stream that repeats its transcript stays
 * far below; tiny snapshots of a long conversation, over and over, would take minutes.
 */
const MAX_SNAPSHOT_WORK = 500_000;

/**
 * Most messages and calls in one snapshot, since it is merged in one turn of the event loop. The largest event that is
 * read by default has hardly room for as many with ids and words.
 */
export const MAX_SNAPSHOT_ITEMS = 4000;

function applySnapshot(state: FoldState, value: JsonValue | undefined): void {
  const { held } = state;
  if (Array.isArray(value) && value.length > MAX_SNAPSHOT_ITEMS) {
    exhaust(state);
    return;
  }
  const { messages, sideIds } = readWireMessages(value ?? null, (oddity, id) => note(state, oddity, id));
  for (const id of sideIds) held.otherIds.add(id);
  if (!Array.isArray(value)) return;
  const items = messages.reduce((sum, { calls }) => sum + 1 + calls.length, 0);
  const work = items + held.size + held.calls.size;
  state.work += work;
  state.snapshotWork += work;
  if (items > MAX_SNAPSHOT_ITEMS || state.snapshotWork > MAX_SNAPSHOT_WORK) {
    exhaust(state);
    return;
  }
  mergeSnapshot(held, messages, { at: state.at, note: (code, id) => note(state, code, id) });
}

function exhaust(state: FoldState): void {
  state.isExhausted = true;
  note(state, 'truncated_tap', 'MESSAGES_SNAPSHOT');
}

/** After RUN_FINISHED a failure may still be reported, and after any end a new run may begin. */
const mayFollowTheEnd = (event: StreamEvent, ending: Ending | undefined): boolean =>
  event.kind === 'run_started' || (event.kind === 'run_error' && ending !== 'run_error');

function isContent(event: StreamEvent): boolean {
  switch (event.kind) {
    case 'text_content':
    case 'text_chunk':
      return event.delta !== undefined && event.delta !== '';
    case 'reasoning':
      return event.hasContent;
    case 'reasoning_chunk':
    case 'call_start':
    case 'call_chunk':
    case 'call_result':
      return true;
    default:
      return false;
  }
}

function endRuns(state: FoldState, streamEnd: StreamEnd): { runs: Run[]; ending: Ending } {
  const end = state.isExhausted && streamEnd === 'complete' ? 'unread' : streamEnd;
  closeOpen(state, end === 'complete' ? 'cut' : 'unseen');
  const last = currentRun(state);
  const isCutOff = last?.ending === undefined && last?.cancelled !== true;
  if (end === 'complete' && isCutOff) note(state, 'no_terminal_event', last?.runId ?? '');
  const runs = state.runs.map((run) => toRun(run, endingOf(run, run === last, end)));
  const withoutRun: Ending = end === 'client_aborted' || end === 'upstream_error' ? end : 'truncated';
  return { runs, ending: runs.at(-1)?.ending ?? withoutRun };
}

/** Gives calls that only a result announced the name and the arguments that an interrupt told of them. */
function nameCalls(state: FoldState): void {
  for (const { toolCallId, toolName, args } of [...state.start.interrupts, ...state.interrupts]) {
    const call = toolCallId === undefined ? undefined : state.held.calls.get(toolCallId);
    if (call?.name !== undefined || call === undefined) continue;
    call.name = toolName;
    if (args) call.knownArguments ??= args;
  }
}

/** Notes what only the end of the stream tells of its calls. */
function* noteCalls(state: FoldState): Steps<void> {
  for (const [index, call] of [...state.held.calls.values()].entries()) {
    if (index % ITEMS_PER_STEP === 0) yield;
    if (call.orphanAt !== undefined) state.log.note('orphan_result', call.orphanAt, call.id);
    if (call.changedAt !== undefined && isUnparsed(call)) state.log.note('unparsed_arguments', call.changedAt, call.id);
  }
}

function* materialise(state: FoldState): Steps<Message[]> {
  const answered = new Set(state.held.results.keys());
  const messages: Message[] = [];
  for (const held of inOrder(state.held)) {
    if (messages.length % ITEMS_PER_STEP === 0) yield;
    messages.push(toMessage(held, answered));
  }
  return messages;
}

const observedCalls = (state: FoldState): ObservedToolCall[] =>
  [...state.observed].map((call) => toObserved(call, state.held.results.has(call.id)));

function toObserved(call: HeldCall, isAnswered: boolean): ObservedToolCall {
  const endedAt = call.answeredAt ?? call.endedAt;
  return {
    id: call.id,
    name: call.name ?? UNKNOWN_TOOL,
    ...(call.startedAt === undefined ? {} : { startedAt: call.startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    state: callState(call, isAnswered),
  };
}
