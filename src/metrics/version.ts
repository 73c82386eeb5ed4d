import { createHash } from 'node:crypto';
import type { Transcript } from '../conversation/transcript.ts';
import type { ReplyProblem } from '../judge/judge.ts';
import { wordingOf, type ShownRequest } from '../judge/wording.ts';
import { sampleTranscripts } from './sample.ts';

/** A request to a judge, with what its own check can find wrong in a reply. */
export interface SampleRequest {
  readonly request: ShownRequest;
  readonly problems?: readonly ReplyProblem[];
}

/** What decides a score beside the conversation and the judge's mood. */
interface EvaluatorParts {
  readonly metric: string;
  /** Every request that the metric makes with these parameters, made by what makes the real ones. */
  readonly requests: (transcript: Transcript) => readonly SampleRequest[];
  readonly params: unknown;
  readonly judgeModel: string;
}

/**
 * 16 hex digits that change when anything of an evaluator changes. They are a hash of all that a judge is shown for two
 * fixed conversations, so nothing that is shown can be forgotten.
 */
export function evaluatorVersion({ requests, ...parts }: EvaluatorParts): string {
  const shown = sampleTranscripts()
    .flatMap((transcript) => requests(transcript))
    .map(({ request, problems }) => wordingOf(request, problems));
  const identity = JSON.stringify({ ...parts, shown });
  return createHash('sha256').update(identity).digest('hex').slice(0, 16);
}
