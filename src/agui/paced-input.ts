import { setImmediate as nextTurn } from 'node:timers/promises';
import { ITEMS_PER_STEP } from '../lib/steps.ts';
import type { Fold } from './fold.ts';

/** What feeds a fold. */
export type FoldInput = Pick<Fold, 'push' | 'skip' | 'note'>;

/**
 * A fold's input that only keeps what it is given until {@link PacedInput.settle} folds it, a turn's worth of work at a
 * time. A decoder hands over all events of its bytes at once, and some events cost as much as thousands of others.
 */
export interface PacedInput extends FoldInput {
  settle(): Promise<void>;
}

export function pacedInput(fold: Fold): PacedInput {
  let waiting: (() => void)[] = [];
  return {
    push: (value, arrival) => void waiting.push(() => fold.push(value, arrival)),
    skip: (code, id) => void waiting.push(() => fold.skip(code, id)),
    note: (code, id) => void waiting.push(() => fold.note(code, id)),
    async settle() {
      const steps = waiting;
      waiting = [];
      let before = fold.work();
      for (const step of steps) {
        step();
        if (fold.work() - before < ITEMS_PER_STEP) continue;
        await nextTurn();
        before = fold.work();
      }
    },
  };
}
