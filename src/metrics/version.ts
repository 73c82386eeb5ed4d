import { createHash } from 'node:crypto';
import { z } from 'zod';
import { TRANSCRIPT_FORMAT } from '../conversation/transcript.ts';

/** What decides a score beside the conversation and the judge's mood. */
interface EvaluatorParts {
  readonly metric: string;
  /** Every text that can be put to the judge. */
  readonly prompts: readonly string[];
  /** Every schema that an answer is asked in, by its name on the wire. */
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  readonly params: unknown;
  readonly judgeModel: string;
}

/** 16 hex digits that change when anything of an evaluator changes. */
export function evaluatorVersion({ schemas, ...parts }: EvaluatorParts): string {
  const shapes = Object.entries(schemas).map(([name, schema]) => [name, z.toJSONSchema(schema)]);
  const identity = JSON.stringify({ ...parts, shapes, transcript: TRANSCRIPT_FORMAT });
  return createHash('sha256').update(identity).digest('hex').slice(0, 16);
}
