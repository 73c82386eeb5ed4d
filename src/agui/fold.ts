import type { Message } from '../conversation/message.ts';
import { type JsonValue, parseJson } from '../lib/json.ts';
import { JSON_PIECE_CHARACTERS, parsingJson } from '../lib/parse-json.ts';
import { atOnce, ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { StreamEvent } from './events.ts';
import type { Ending, Interrupt, ObservedToolCall, Run } from './exchange.ts';
import { createChunkExpander } from './expand-chunks.ts';
import type { DroppedFindings, Finding, FindingCode } from './findings.ts';
import { applyCall, callToEnd } from './fold-calls.ts';
import { applyRun, ensureRun, startingRun } from './fold-runs.ts';
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
import {
  callState,
  type HeldCall,
  isLongUnread,
  isUnparsed,
  MAX_REPEATS,
  readingArguments,
  workOfArguments,
} from './held-call.ts';
import { toMessage, UNKNOWN_TOOL } from './held-message.ts';
import { append, fromWire, inOrder } from './held-messages.ts';
import { mergingSnapshot } from './merge-snapshot.ts';
import { readEvent } from './read-event.ts';
import { endingOf, type StreamEnd, toRun } from './run-log.ts';
import { readingWireMessages } from './wire-message.ts';

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
  /**
   * The same for callers that let other work in between. What is left to do of a large event is returned, in steps: they are
   * to be done before anything else is taken.
   */
  pushing(event: JsonValue, origin?: EventArrival): Steps<void> | undefined;
  /** Takes the next event as JSON. Text that is none counts as a position and is noted. */
  pushText(text: string, origin?: EventArrival): void;
  /** As {@link Fold.pushing}. */
  pushingText(text: string, origin?: EventArrival): Steps<void> | undefined;
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
  /** What the event at hand comes to. */
  let expanded: Expanded[] = [];
  const expander = createChunkExpander(
    (event) => expanded.push(event),
    (id) => expanded.push({ kind: 'chunk_fault', id }),
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

  const pushing: Fold['pushing'] = (value, { sseName, arrivedAt } = {}) => {
    if (state.isExhausted) return undefined;
    begin();
    state.arrivedAt = arrivedAt;
    const origin = sseName === undefined ? { at: state.at } : { at: state.at, sseName };
    const { event, countedAs } = readEvent(value, origin, (code, id) => note(state, code, id));
    counts.set(countedAs, (counts.get(countedAs) ?? 0) + 1);
    firstEventAt ??= arrivedAt;
    if (isContent(event)) firstContentAt ??= arrivedAt;
    if (event.kind === 'ignored' && countedAs === 'other') return undefined;
    if (isLate(state) && !mayFollowTheEnd(event, currentRun(state)?.ending)) {
      note(state, 'event_after_end', countedAs);
    }
    if (event.kind !== 'run_started') ensureRun(state, event.kind !== 'run_error');
    expanded = [];
    expander.push(event, state.at);
    return applyAll(state, expanded);
  };

  const skip: Fold['skip'] = (code, id) => {
    if (state.isExhausted) return;
    begin();
    note(state, code, id);
  };
  const pushParsed = (value: JsonValue | undefined, text: string, origin?: EventArrival): Steps<void> | undefined => {
    if (value !== undefined) return pushing(value, origin);
    skip('malformed_json', text.trim() === DONE ? DONE : '');
    return undefined;
  };
  const pushingText: Fold['pushingText'] = (text, origin) =>
    text.length > JSON_PIECE_CHARACTERS
      ? parsed(text, (value) => pushParsed(value, text, origin))
      : pushParsed(parseJson(text), text, origin);

  return {
    push: (value, origin) => finishNow(pushing(value, origin)),
    pushing,
    pushText: (text, origin) => finishNow(pushingText(text, origin)),
    pushingText,
    skip,
    note: (code, id) => {
      state.at = next;
      note(state, code, id);
    },
    finish: (end) => atOnce(finishing(end)),
    finishing,
    work: () => state.work,
  };
}

/** What OpenAI-style servers send after the last event. It is no event, and AG-UI clients refuse it. */
const DONE = '[DONE]';

const finishNow = (rest: Steps<void> | undefined): void => {
  if (rest) atOnce(rest);
};

/** Parses a long text, then does what is left to do of its value. */
function* parsed(text: string, push: (value: JsonValue | undefined) => Steps<void> | undefined): Steps<void> {
  const value = yield* parsingJson(text);
  // A text that is too long for one step holds what is, too.
  yield;
  const rest = push(value);
  if (rest) yield* rest;
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
  yield;
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

/** What an event comes to once chunks are expanded: events, and chunks that fit nowhere. */
type Expanded = StreamEvent | { readonly kind: 'chunk_fault'; readonly id: string };

/** Applies events up to the first large one; the rest is returned. */
function applyAll(state: FoldState, events: readonly Expanded[]): Steps<void> | undefined {
  for (let index = 0; index < events.length; index += 1) {
    const event = events[index]!;
    if (isLarge(state, event)) return applyingAll(state, events.slice(index));
    apply(state, event);
  }
  return undefined;
}

function* applyingAll(state: FoldState, events: readonly Expanded[]): Steps<void> {
  for (const event of events) {
    switch (event.kind) {
      case 'messages_snapshot':
        yield* applyingSnapshot(state, event.messages);
        break;
      case 'run_started':
        yield* startingRun(state, event);
        break;
      case 'call_end': {
        const call = longCallToEnd(state, event.id);
        if (call) yield* readingArguments(call);
        apply(state, event);
        break;
      }
      default:
        apply(state, event);
    }
  }
}

function isLarge(state: FoldState, event: Expanded): boolean {
  switch (event.kind) {
    case 'messages_snapshot':
    case 'run_started':
      return true;
    case 'call_end':
      return longCallToEnd(state, event.id) !== undefined;
    default:
      return false;
  }
}

/** A call whose arguments take longer to parse than a step may, and are about to be. */
function longCallToEnd(state: FoldState, id: string | undefined): HeldCall | undefined {
  const call = callToEnd(state, id);
  return call && call.repeats <= MAX_REPEATS && isLongUnread(call) ? call : undefined;
}

function apply(state: FoldState, event: Expanded): void {
  switch (event.kind) {
    case 'chunk_fault':
      note(state, 'malformed_event', event.id);
      return;
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
    // Runs that start and snapshots are large events.
  }
}

/**
 * Most messages and calls that the snapshots of one stream may be compared with, in sum. A stream that repeats its transcript stays
 * far below; tiny snapshots of a long conversation, over and over, would take minutes.
 */
const MAX_SNAPSHOT_WORK = 500_000;

/**
 * Most messages and calls in one snapshot: some passes over all of them are one step each. The largest event that is read by
 * default has hardly room for as many with ids and words.
 */
export const MAX_SNAPSHOT_ITEMS = 4000;

function* applyingSnapshot(state: FoldState, value: JsonValue | undefined): Steps<void> {
  const { held } = state;
  if (Array.isArray(value) && value.length > MAX_SNAPSHOT_ITEMS) {
    exhaust(state);
    return;
  }
  const { messages, sideIds } = yield* readingWireMessages(value ?? null, (oddity, id) => note(state, oddity, id));
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
  yield* mergingSnapshot(held, messages, { at: state.at, note: (code, id) => note(state, code, id) });
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
    if (call.changedAt !== undefined && isLongUnread(call)) yield* readingArguments(call);
    if (call.orphanAt !== undefined) state.log.note('orphan_result', call.orphanAt, call.id);
    if (call.changedAt !== undefined && isUnparsed(call)) state.log.note('unparsed_arguments', call.changedAt, call.id);
  }
}

function* materialise(state: FoldState): Steps<Message[]> {
  const answered = new Set(state.held.results.keys());
  const messages: Message[] = [];
  let work = 0;
  for (const held of inOrder(state.held)) {
    for (const call of held.calls) {
      if (isLongUnread(call)) yield* readingArguments(call);
      work += workOfArguments(call);
      if (work < ITEMS_PER_STEP) continue;
      work = 0;
      yield;
    }
    work += 1;
    if (work >= ITEMS_PER_STEP) {
      work = 0;
      yield;
    }
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
