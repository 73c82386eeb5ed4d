import type { JsonValue } from '../lib/json.ts';
import type { Steps } from '../lib/steps.ts';
import { type FoldState, note } from './fold-state.ts';
import { mergingSnapshot } from './merge-snapshot.ts';
import { readingWireMessages } from './wire-message.ts';

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

/** Applies the messages of a MESSAGES_SNAPSHOT. One that is over a bound ends the reading of its stream. */
export function* applyingSnapshot(state: FoldState, value: JsonValue | undefined): Steps<void> {
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
