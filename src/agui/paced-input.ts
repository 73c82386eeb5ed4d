import { ITEMS_PER_STEP, paced, type Steps } from '../lib/steps.ts';
import { giveWay } from '../lib/turn.ts';
import type { Fold } from './fold.ts';

/** What feeds a fold. */
export type FoldInput = Pick<Fold, 'push' | 'pushText' | 'skip' | 'note'>;

/**
 * A fold's input that only keeps what it is given until {@link PacedInput.settle} folds it, a turn's worth of work at a
 * time. A decoder hands over all events of its bytes at once, and some events cost as much as thousands of others.
 */
export interface PacedInput extends FoldInput {
  /** Nothing to wait for when all of it fits in one turn, as it mostly does. */
  settle(): Promise<void> | undefined;
}

/** Does one thing that was given; what is left to do of it is returned. */
type Job = () => Steps<void> | void;

export function pacedInput(fold: Fold): PacedInput {
  let waiting: Job[] = [];
  return {
    push: (value, arrival) => void waiting.push(() => fold.pushing(value, arrival)),
    pushText: (text, arrival) => void waiting.push(() => fold.pushingText(text, arrival)),
    skip: (code, id) => void waiting.push(() => fold.skip(code, id)),
    note: (code, id) => void waiting.push(() => fold.note(code, id)),
    settle() {
      const steps = folding(fold, waiting);
      waiting = [];
      return steps.next().done ? undefined : foldOn(steps);
    },
  };
}

function* folding(fold: Fold, jobs: readonly Job[]): Steps<void> {
  let before = fold.work();
  for (const job of jobs) {
    const rest = job();
    if (rest) yield* rest;
    if (fold.work() - before < ITEMS_PER_STEP) continue;
    before = fold.work();
    yield;
  }
}

async function foldOn(steps: Steps<void>): Promise<void> {
  await giveWay();
  await paced(steps);
}
