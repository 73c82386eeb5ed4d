import { JudgeError } from '../judge/judge.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Failed } from './metric.ts';

/** The label of a scored value: `pass` at or above the threshold. */
export const passOrFail = (value: number, threshold: number): 'pass' | 'fail' => (value >= threshold ? 'pass' : 'fail');

/**
 * The verdict for what a judge could not answer, with what was known by then.
 *
 * @throws `error` itself when it is not the judge's failure: a defect or an abort is never a verdict.
 */
export function failedVerdict(error: unknown, details?: JsonObject): Failed {
  if (!(error instanceof JudgeError)) throw error;
  return {
    kind: 'failed',
    errorType: error.type,
    cause: error.message,
    ...(details === undefined ? {} : { details }),
  };
}
