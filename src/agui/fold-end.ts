import type { Message } from '../conversation/message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { Ending, Interrupt, ObservedToolCall, Run } from './exchange.ts';
import type { DroppedFindings, Finding } from './findings.ts';
import { closeOpen, currentRun, type FoldState, note } from './fold-state.ts';
import { callState, type HeldCall, isLongUnread, isUnparsed, readingArguments } from './held-call.ts';
import { UNKNOWN_TOOL } from './held-message.ts';
import { inOrder } from './held-messages.ts';
import { materialising } from './materialise.ts';
import { endingOf, type StreamEnd, toRun } from './run-log.ts';

/** What only the end of a stream settles. */
export interface FoldEnd {
  readonly runs: readonly Run[];
  readonly ending: Ending;
  /** The messages that the stream brought or changed. */
  readonly output: readonly Message[];
  readonly messages: readonly Message[];
  readonly interrupts: readonly Interrupt[];
  readonly findings: readonly Finding[];
  /** Those beyond the bound of what is kept, by code. */
  readonly findingsDropped: readonly DroppedFindings[];
  readonly toolCalls: readonly ObservedToolCall[];
}

/** Closes what is open and says what it all came to, in steps of {@link ITEMS_PER_STEP} items at most. */
export function* endingFold(state: FoldState, end: StreamEnd): Steps<FoldEnd> {
  const { runs, ending } = endRuns(state, end);
  nameCalls(state);
  yield;
  yield* noteCalls(state);
  const messages = yield* materialising(state.held);
  yield;
  const changed = inOrder(state.held).map((message) => message.changed);
  return {
    runs,
    ending,
    output: messages.filter((_, index) => changed[index]),
    messages,
    interrupts: state.interrupts,
    findings: state.log.findings(),
    findingsDropped: state.log.dropped(),
    toolCalls: observedCalls(state),
  };
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
