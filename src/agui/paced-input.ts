import type { JsonValue } from '../lib/json.ts';
import { ITEMS_PER_STEP, paced, type Steps } from '../lib/steps.ts';
import { giveWay } from '../lib/turn.ts';
import type { EventArrival, Fold } from './fold.ts';

/** What takes the events of a stream, one after the other. */
export interface FoldInput extends Pick<Fold, 'skip' | 'note'> {
  push(event: JsonValue, arrival?: EventArrival): void;
  /** The next event as JSON. */
  pushText(text: string, arrival?: EventArrival): void;
}

/**
 * A fold's input that only keeps what it is given until {@link PacedInput.settle} folds it, a turn's worth of work at a
 * time. A decoder hands over all events of its bytes at once, and some events cost as much as thousands of others.
 */
export interface PacedInput extends FoldInput {
  /** Nothing to wait for when all of it fits in one turn, as it mostly does. */
  settle(): Promise<void> | undefined;
}

/** Does one thing that was given; what is left to do of it is returned. */
type Job = () => Steps<void> | undefined;

const wholly =
  (work: () => void): Job =>
  () => {
    work();
    return undefined;
  };

export function pacedInput(fold: Fold): PacedInput {
  let waiting: Job[] = [];
  return {
    push: (value, arrival) => void waiting.push(() => fold.pushing(value, arrival)),
    pushText: (text, arrival) => void waiting.push(() => fold.pushingText(text, arrival)),
    skip: (code, id) => void waiting.push(wholly(() => fold.skip(code, id))),
    note: (code, id) => void waiting.push(wholly(() => fold.note(code, id))),
    settle() {
      if (waiting.length === 0) return undefined;
      const jobs = waiting;
      waiting = [];
      // Spelled out for what nearly always comes next: one small event, for which a generator would be half of the work.
      const before = fold.work();
      for (const [index, job] of jobs.entries()) {
        const rest = job();
        if (rest || fold.work() - before >= ITEMS_PER_STEP) return foldOn(fold, rest, jobs.slice(index + 1));
      }
      return undefined;
    },
  };
}

async function foldOn(fold: Fold, rest: Steps<void> | undefined, jobs: readonly Job[]): Promise<void> {
  await giveWay();
  await paced(folding(fold, rest, jobs));
}

function* folding(fold: Fold, begun: Steps<void> | undefined, jobs: readonly Job[]): Steps<void> {
  if (begun) yield* begun;
  let before = fold.work();
  for (const job of jobs) {
    const rest = job();
    if (rest) yield* rest;
    if (fold.work() - before < ITEMS_PER_STEP) continue;
    before = fold.work();
    yield;
  }
}
