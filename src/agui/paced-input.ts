import { ITEMS_PER_STEP } from '../lib/steps.ts';
import { giveWay } from '../lib/turn.ts';
import type { Fold } from './fold.ts';

/** What feeds a fold. */
export type FoldInput = Pick<Fold, 'push' | 'skip' | 'note'>;

/**
 * A fold's input that only keeps what it is given until {@link PacedInput.settle} folds it, a turn's worth of work at a
 * time. A decoder hands over all events of its bytes at once, and some events cost as much as thousands of others.
 */
export interface PacedInput extends FoldInput {
  /** Nothing to wait for when all of it fits in one turn, as it mostly does. */
  settle(): Promise<void> | undefined;
}

export function pacedInput(fold: Fold): PacedInput {
  let waiting: (() => void)[] = [];
  return {
    push: (value, arrival) => void waiting.push(() => fold.push(value, arrival)),
    skip: (code, id) => void waiting.push(() => fold.skip(code, id)),
    note: (code, id) => void waiting.push(() => fold.note(code, id)),
    settle() {
      const steps = waiting.values();
      waiting = [];
      return foldTurn(fold, steps) ? undefined : foldOn(fold, steps);
    },
  };
}

/** Folds until a turn's work is done; true when nothing is left. */
function foldTurn(fold: Fold, steps: ArrayIterator<() => void>): boolean {
  const before = fold.work();
  for (let step = steps.next(); !step.done; step = steps.next()) {
    step.value();
    if (fold.work() - before >= ITEMS_PER_STEP) return false;
  }
  return true;
}

async function foldOn(fold: Fold, steps: ArrayIterator<() => void>): Promise<void> {
  do await giveWay();
  while (!foldTurn(fold, steps));
}
