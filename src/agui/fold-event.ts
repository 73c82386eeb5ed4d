import type { Steps } from '../lib/steps.ts';
import type { StreamEvent } from './events.ts';
import { applyCall, callToEnd, endingCall } from './fold-calls.ts';
import { applyRun, startingRun } from './fold-runs.ts';
import { applyingSnapshot } from './fold-snapshot.ts';
import { currentRun, type FoldState, note, raiseInterrupt } from './fold-state.ts';
import { applyText } from './fold-text.ts';
import { isLongUnread } from './held-call.ts';

/** What an event comes to once chunks are expanded: events, and chunks that fit nowhere. */
export type Expanded = StreamEvent | { readonly kind: 'chunk_fault'; readonly id: string };

/** Applies events up to the first large one; the rest is returned. */
export function applyAll(state: FoldState, events: readonly Expanded[]): Steps<void> | undefined {
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
      case 'call_end':
        yield* endingCall(state, event.id);
        break;
      default:
        apply(state, event);
    }
  }
}

/** It may take more than one step. */
function isLarge(state: FoldState, event: Expanded): boolean {
  switch (event.kind) {
    case 'messages_snapshot':
    case 'run_started':
      return true;
    case 'call_end': {
      const call = callToEnd(state, event.id);
      return call !== undefined && isLongUnread(call);
    }
    default:
      return false;
  }
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
