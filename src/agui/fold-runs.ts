import type { JsonValue } from '../lib/json.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { RunEvent, RunFailed, RunFinished, RunStarted } from './events.ts';
import { closeOpen, currentRun, type FoldState, note, raiseInterrupt } from './fold-state.ts';
import { type HeldMessage, heldText, setText } from './held-message.ts';
import {
  append,
  appendResult,
  fromWire,
  type HeldMessages,
  MAX_COMPARED_RESULTS,
  moveCall,
  rename,
  restateCall,
} from './held-messages.ts';
import { failRun, finishRun, openRun } from './run-log.ts';
import { readingWireMessages, type WireMessage } from './wire-message.ts';

/** Applies an event that starts a run: it may bring a whole conversation. */
export function* startingRun(state: FoldState, event: RunStarted): Steps<void> {
  startRun(state, event);
  yield* addingEchoedInput(state, event.messages);
}

/** Applies an event that ends a run. */
export function applyRun(state: FoldState, event: Exclude<RunEvent, RunStarted>): void {
  switch (event.kind) {
    case 'run_finished':
      endRun(state, event);
      return;
    case 'run_error':
      breakRun(state, event);
      return;
    case 'run_cancelled':
      cancelRun(state);
  }
}

/**
 * Makes sure that events have a run to belong to, when the stream does not begin with RUN_STARTED. A stream may well
 * begin with RUN_ERROR; before anything else the start is missing.
 */
export function ensureRun(state: FoldState, isMissing: boolean): void {
  if (currentRun(state)) return;
  if (isMissing) note(state, 'missing_start', 'RUN_STARTED');
  const { threadId, runId } = state.start;
  state.runs.push(openRun(1, { threadId, runId, parentRunId: undefined }, true));
}

function startRun(state: FoldState, event: RunStarted): void {
  const { start } = state;
  const run = currentRun(state);
  const isMismatch = (given: string, expected: string): boolean =>
    given !== '' && expected !== '' && given !== expected;
  if (isMismatch(event.threadId, start.threadId)) note(state, 'id_mismatch', event.threadId);
  const isFirst = run === undefined || run.implicit;
  if (isFirst && isMismatch(event.runId, start.runId)) note(state, 'id_mismatch', event.runId);

  if (run && run.ending === undefined) {
    if (run.implicit) {
      state.runs[state.runs.length - 1] = {
        ...run,
        ...openRun(run.number, event, false),
        interrupted: run.interrupted,
      };
      return;
    }
    if (run.runId === event.runId) {
      note(state, 'duplicate_start', event.runId);
      return;
    }
    closeOpen(state, 'cut');
    if (!run.cancelled) note(state, 'no_terminal_event', run.runId);
    run.ending = run.cancelled ? 'cancelled' : 'truncated';
  }
  state.runs.push(openRun((run?.number ?? 0) + 1, event, false));
}

/** RUN_STARTED may echo the input, whole or only what the server had not seen; known messages stay as they are. */
function* addingEchoedInput(state: FoldState, echoed: JsonValue | undefined): Steps<void> {
  if (echoed === undefined) return;
  const { held } = state;
  const { messages, sideIds } = yield* readingWireMessages(echoed, (oddity, id) => note(state, oddity, id));
  for (const [index, wire] of messages.entries()) {
    if (index % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    for (const stated of wire.calls) {
      const call = held.calls.get(stated.id);
      if (call?.madeUp) restateCall(call, stated, state.at);
    }
    if (isHeld(held, wire)) continue;
    const message = fromWire(held, withoutHeldCalls(held, wire), false);
    const caller = wire.role === 'tool' ? held.calls.get(wire.toolCallId)?.owner : undefined;
    if (caller) appendResult(held, caller, message);
    else append(held, message);
  }
  for (const id of sideIds) held.otherIds.add(id);
}

/** Some producers give all results one id, so a tool message is told apart by its call; one of calls that are held may have another id. */
function isHeld(held: HeldMessages, wire: WireMessage): boolean {
  if (wire.role === 'tool') {
    const results = held.results.get(wire.toolCallId) ?? [];
    return results.slice(0, MAX_COMPARED_RESULTS).some(({ id }) => id === wire.id);
  }
  if (held.byId.has(wire.id) || held.otherIds.has(wire.id)) return true;
  const [first, ...others] = wire.calls.map(({ id }) => held.calls.get(id));
  if (!first || others.includes(undefined)) return false;
  const { owner } = first;
  if (owner.provisional) {
    for (const call of others) if (call?.owner.provisional && call.owner !== owner) moveCall(held, call, owner);
    identify(held, owner, wire);
  } else held.byId.set(wire.id, owner);
  return true;
}

/** The message that was only made up to hold a call turns out to be this one. */
function identify(held: HeldMessages, message: HeldMessage, wire: WireMessage): void {
  rename(held, message, wire.id);
  message.provisional = false;
  if (heldText(message) === '' && !message.open) setText(message, wire.text);
}

const withoutHeldCalls = (held: HeldMessages, wire: WireMessage): WireMessage => ({
  ...wire,
  calls: wire.calls.filter(({ id }) => !held.calls.has(id)),
});

function endRun(state: FoldState, event: RunFinished): void {
  const run = currentRun(state);
  if (!run || run.ending !== undefined) return;
  closeOpen(state, event.outcome === 'cancelled' ? 'cut' : 'finished');
  if (event.runId !== '' && run.runId !== '' && event.runId !== run.runId) note(state, 'id_mismatch', event.runId);
  if (event.threadId !== '' && run.threadId !== '' && event.threadId !== run.threadId) {
    note(state, 'id_mismatch', event.threadId);
  }
  finishRun(run, event);
  if (event.interrupts.length > 0) dropUnnamed(state, run.number);
  for (const interrupt of event.interrupts) raiseInterrupt(state, interrupt);
}

/** The outcome lists the run's interrupts in full, so one that a custom event announced without naming it is among them. */
function dropUnnamed(state: FoldState, run: number): void {
  for (const { id } of state.unnamedInterrupts.filter((interrupt) => interrupt.run === run)) {
    const at = state.interrupts.findIndex((interrupt) => interrupt.id === id && interrupt.toolCallId === undefined);
    if (at >= 0) state.interrupts.splice(at, 1);
  }
}

function cancelRun(state: FoldState): void {
  const run = currentRun(state);
  if (!run || run.ending !== undefined) return;
  closeOpen(state, 'cut');
  run.cancelled = true;
}

/** The first failure is final. */
function breakRun(state: FoldState, event: RunFailed): void {
  const run = currentRun(state);
  if (!run || run.ending === 'run_error') return;
  closeOpen(state, 'cut');
  failRun(run, event);
}
