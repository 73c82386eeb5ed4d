import type { z } from 'zod';
import type { Admission } from '../lib/admission.ts';

/**
 * Why a judgement failed. A closed list: it is the label `outcome` of `agui_eval_judge_requests_total`.
 */
export const JUDGE_ERROR_TYPES = [
  'timeout',
  'rate_limited',
  'unauthorized',
  'refused',
  'malformed',
  'output_truncated',
  'wrong_cardinality',
  'out_of_range',
  'ungrounded',
  'unavailable',
  'context_too_long',
  'unanswered',
] as const;

export type JudgeErrorType = (typeof JUDGE_ERROR_TYPES)[number];

/** A judge that gave no usable answer. `type` says which kind of failure it is counted under. */
export class JudgeError extends Error {
  override readonly name = 'JudgeError';
  readonly type: JudgeErrorType;

  constructor(type: JudgeErrorType, message: string, options?: ErrorOptions) {
    super(message, options);
    this.type = type;
  }
}

export interface JudgeMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A fault in a reply that fits its schema: what is wrong, in words that help the judge to answer better. */
export interface ReplyProblem {
  readonly type: JudgeErrorType;
  readonly message: string;
}

/** One question to a judge, answered by a value of `schema`. */
export interface JudgeRequest<T> {
  /** Name of the schema on the wire, one of those in docs/metrics.md. */
  readonly schemaName: string;
  /** What the judge is asked to produce; sent as JSON Schema. */
  readonly schema: z.ZodType<T>;
  readonly messages: readonly JudgeMessage[];
  /** Checks that the schema cannot express; a problem is put to the judge once more, then fails the judgement. */
  readonly check?: (value: T) => ReplyProblem | undefined;
  /** False: one request decides. There is no repair attempt for a reply that does not fit, no retry of one that failed. */
  readonly repair?: boolean;
  /** Reads replies in place of `schema`, when more than `schema` asks for is to be accepted. */
  readonly read?: z.ZodType<T>;
}

/** One request as it went to the judge, successful or not. Repair attempts are calls of their own; HTTP retries too. */
export interface JudgeCall {
  readonly schemaName: string;
  readonly outcome: 'success' | JudgeErrorType;
  /** The model asked for. */
  readonly model: string;
  /** The model that answered, as the endpoint names it. */
  readonly responseModel?: string;
  readonly responseId?: string;
  /** How the answer was asked for, by judges that negotiate it with their endpoint. */
  readonly format?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds. */
  readonly endedAt: number;
}

export interface Judge {
  /** The model asked for; part of every evaluator version. */
  readonly model: string;
  /** Host and port of the endpoint, when there is one. */
  readonly endpoint?: { readonly host: string; readonly port: number };
  /** How many conversations may be put to it at once; absent: any number. An endpoint that refuses everybody gets none. */
  admission?(): Admission;
  /**
   * Puts one question and returns the validated answer. `onCall` is told of every request made for it.
   *
   * @throws {JudgeError} when no usable answer came; any other error is a defect, except that of an aborted `signal`.
   */
  ask<T>(request: JudgeRequest<T>, options: AskOptions): Promise<T>;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onCall?: (call: JudgeCall) => void;
}
