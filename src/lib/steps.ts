import { giveWay } from './turn.ts';

/** Work that can be interrupted wherever it yields. */
export type Steps<Result> = Generator<void, Result, undefined>;

/** Does all steps at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Does all steps, and other work gets its turn in between. */
export async function paced<Result>(steps: Steps<Result>): Promise<Result> {
  let step = steps.next();
  while (!step.done) {
    const turn = giveWay();
    if (turn) await turn;
    step = steps.next();
  }
  return step.value;
}

/** Items that are looked at in one step: messages, events, calls, at some microseconds each. */
export const ITEMS_PER_STEP = 256;
