import type { SpanLink } from '../agui/capture.ts';
import type { Ending } from '../agui/exchange.ts';
import type { Message } from '../conversation/message.ts';
import type { JudgeCall } from '../judge/judge.ts';
import type { Verdict } from '../metrics/metric.ts';

/** A closed conversation that sampling chose to be judged. Plain JSON: it may cross to another process. */
export interface ScoringJob {
  /** Hash of agent, tenant, thread, closing and metric set: a second delivery has the same id. */
  readonly id: string;
  readonly agent: string;
  readonly tenant?: string;
  readonly threadId: string;
  /** 1 for the first closing of the thread, n + 1 when it resumed and closed again. */
  readonly revision: number;
  /** Why the conversation was over: a silence, or the stop of the sidecar, behind which it might have gone on. */
  readonly cause: 'idle' | 'shutdown';
  readonly messages: readonly Message[];
  readonly ending: Ending;
  readonly runs: readonly RunReference[];
  /** The inclusion probability π, in (0, 1]; its inverse is the weight of every sum. */
  readonly probability: number;
  readonly stratum: string;
  /** Epoch milliseconds. */
  readonly closedAt: number;
}

export interface RunReference {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  readonly trace: SpanLink;
}

/** One metric's verdict on one conversation, with what it took to reach it. */
export interface MetricResult {
  readonly metric: string;
  readonly evaluator: 'llm' | 'code';
  readonly evaluatorVersion: string;
  readonly threshold: number;
  readonly verdict: Verdict;
  readonly calls: readonly JudgeCall[];
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds. */
  readonly endedAt: number;
}

/**
 * How a closing ended. Every closing ends in exactly one of these. A closed list: it is the label `decision` of
 * `agui_eval_conversations_total`.
 */
export const DECISIONS = [
  'scored',
  'partly_scored',
  'judge_failed',
  'sampled_out',
  'filtered',
  'budget',
  'shed',
  'incomplete',
  'empty',
  'expired',
] as const;

export type Decision = (typeof DECISIONS)[number];

export interface Scorecard {
  readonly job: ScoringJob;
  readonly decision: Decision;
  readonly results: readonly MetricResult[];
}
