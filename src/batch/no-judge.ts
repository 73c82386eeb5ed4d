import type { Judge } from '../judge/judge.ts';

/** Stands in for a judge where no row needs one; asking it is a defect of the metric. */
export const noJudge: Judge & AsyncDisposable = {
  model: 'none',
  ask: () => Promise.reject(new Error('a metric that computes its value asked a judge')),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
