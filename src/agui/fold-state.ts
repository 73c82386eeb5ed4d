import type { Interrupt } from './exchange.ts';
import { createFindingLog, type FindingLog } from './finding-log.ts';
import type { FindingCode } from './findings.ts';
import type { HeldCall } from './held-call.ts';
import type { HeldMessage } from './held-message.ts';
import { createHeldMessages, type HeldMessages } from './held-messages.ts';
import { addInterrupt } from './interrupts.ts';
import type { OpenRun } from './run-log.ts';
import type { WireMessage } from './wire-message.ts';

/** What is known before the first event. */
export interface FoldStart {
  /** Empty when the request is unknown or does not say; then not compared with what the stream says. */
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly WireMessage[];
  /** Calls that the request names although their announcement is not among its messages. */
  readonly interrupts: readonly Interrupt[];
}

/** The state of a fold. The `apply…` functions beside this file change it, one event at a time. */
export interface FoldState {
  readonly start: FoldStart;
  readonly held: HeldMessages;
  readonly runs: OpenRun[];
  readonly openTexts: Set<HeldMessage>;
  readonly openCalls: Set<HeldCall>;
  /** What an event without an id most likely speaks of. */
  lastText: HeldMessage | undefined;
  lastCall: HeldCall | undefined;
  /** Calls that events spoke of, in order of the first. */
  readonly observed: Set<HeldCall>;
  readonly interrupts: Interrupt[];
  /** Those that a custom event announced without naming a call, by run. */
  readonly unnamedInterrupts: { readonly id: string; readonly run: number }[];
  readonly log: FindingLog;
  /** What was looked at so far, in items: one for each event, and each message or call that an event concerns as a whole. */
  work: number;
  /** The part of that which snapshots caused by being compared with what is held. */
  snapshotWork: number;
  /** A bound was reached: what follows is not applied. */
  isExhausted: boolean;
  /** Index of the event at hand. */
  at: number;
  /** Its arrival in epoch milliseconds. */
  arrivedAt: number | undefined;
}

export const createFoldState = (start: FoldStart): FoldState => ({
  start,
  held: createHeldMessages(),
  runs: [],
  openTexts: new Set(),
  openCalls: new Set(),
  lastText: undefined,
  lastCall: undefined,
  observed: new Set(),
  interrupts: [],
  unnamedInterrupts: [],
  log: createFindingLog(),
  work: 0,
  snapshotWork: 0,
  isExhausted: false,
  at: 0,
  arrivedAt: undefined,
});

export const note = (state: FoldState, code: FindingCode, id: string): void => state.log.note(code, state.at, id);

/** Keeps an interrupt; false, and a note, when there are too many. */
export function raiseInterrupt(state: FoldState, interrupt: Interrupt): boolean {
  const isKept = addInterrupt(state.interrupts, interrupt);
  if (!isKept) note(state, 'truncated_tap', interrupt.id);
  return isKept;
}

/** The run that events belong to: the last one, also after its end. */
export const currentRun = (state: FoldState): OpenRun | undefined => state.runs.at(-1);

/** Events of a run that has ended still belong to it; they are noted once, as such. */
export const isLate = (state: FoldState): boolean => currentRun(state)?.ending !== undefined;

/**
 * Closes what is open, as the end of a run or of the stream does. `finished`: the run said it was done, so arguments
 * count as complete. `cut`: it broke off. `unseen`: what came next was not read or not waited for, so nothing can be said
 * to be missing. Chunks have no END that could be missing.
 */
export function closeOpen(state: FoldState, how: 'finished' | 'cut' | 'unseen'): void {
  const close = (id: string, chunked: boolean): void => {
    if (how !== 'unseen' && !chunked) note(state, 'missing_end', id);
  };
  for (const message of state.openTexts) {
    message.open = false;
    message.partial = true;
    close(message.id, message.chunked);
  }
  for (const call of state.openCalls) {
    call.phase = how === 'finished' ? 'implied' : 'cut';
    close(call.id, call.chunked);
  }
  state.work += state.openTexts.size + state.openCalls.size;
  state.openTexts.clear();
  state.openCalls.clear();
}
