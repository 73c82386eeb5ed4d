import type { z } from 'zod';
import type { Message } from '../conversation/message.ts';
import type { Judge, JudgeErrorType } from '../judge/judge.ts';
import type { JsonValue } from '../lib/json.ts';

/**
 * The result of judging one conversation by one metric. A judgement that failed, or one that does not apply, is its own
 * case and never a number.
 */
export type Verdict = Scored | NotApplicable | Failed;

interface Scored {
  readonly kind: 'scored';
  /** Finite and inside the metric's range. */
  readonly value: number;
  /** `pass` or `fail` by the threshold; for discrete metrics the value itself. */
  readonly label: string;
  readonly reason: string;
  readonly details?: JsonValue;
}

interface NotApplicable {
  readonly kind: 'not_applicable';
  /** Why the metric says nothing about this conversation, in one sentence. */
  readonly why: string;
  readonly details?: JsonValue;
}

export interface Failed {
  readonly kind: 'failed';
  readonly errorType: JudgeErrorType;
  readonly cause: string;
  readonly details?: JsonValue;
}

/** What the parameters of every metric hold, beside its own. */
export interface MetricParams {
  /** A scored value at or above it is labelled `pass`, below it `fail`. */
  readonly threshold: number;
}

/** What a metric is given: the conversation and, in experiments, what it should have come to. */
export interface MetricInput<Params extends MetricParams = MetricParams> {
  readonly messages: readonly Message[];
  readonly params: Params;
  /**
   * The conversation waits for a person: an interrupt, or a tool call whose result only a person can give. When absent,
   * a conversation that ends on a tool call without a result counts as waiting.
   */
  readonly waiting?: boolean;
  readonly reference?: string;
}

export interface Metric<Params extends MetricParams = MetricParams> {
  readonly name: string;
  readonly title: string;
  /** Inclusive bounds of every value. */
  readonly range: readonly [number, number];
  readonly evaluator: 'llm' | 'code';
  /** Input members that must be present beside the messages. */
  readonly needs: readonly 'reference'[];
  /** Validates parameters and fills in defaults, the `threshold` included. */
  readonly params: z.ZodType<Params>;
  /** Hash of everything that decides a score beside the conversation: prompts, schemas, parameters, judge model. */
  version(params: Params, judgeModel: string): string;
  /**
   * Judges one conversation.
   *
   * @throws only when `signal` aborts or an assumption is broken; what goes wrong with the judge is a `failed` verdict.
   */
  score(input: MetricInput<Params>, judge: Judge, signal: AbortSignal): Promise<Verdict>;
}
