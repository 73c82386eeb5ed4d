import type { Judge, JudgeCall } from '../judge/judge.ts';
import { recordCalls } from '../judge/record-calls.ts';
import type { Clock } from '../lib/clock.ts';
import { followAbort } from '../lib/follow-abort.ts';
import type { Metric, MetricParams, Verdict } from '../metrics/metric.ts';
import type { Decision, MetricResult, Scorecard, ScoringJob } from './scorecard.ts';

/** A metric with parameters that its schema has accepted. */
export interface ConfiguredMetric {
  readonly metric: Metric;
  readonly params: MetricParams;
  /** Of this metric with these parameters and the judge in use. */
  readonly evaluatorVersion: string;
}

export interface ScorerOptions {
  readonly judge: Judge;
  readonly metricsOf: (agent: string) => readonly ConfiguredMetric[];
  /** Time for all metrics of one job, judge calls and their retries included, in milliseconds. */
  readonly jobTimeoutMs: number;
  readonly clock: Clock;
  /** Told of defects: a metric that threw although nothing was aborted. */
  readonly onDefect: (metric: string, error: unknown) => void;
}

/**
 * Puts one conversation before all metrics of its agent. One metric that fails leaves the others.
 *
 * @throws only when `signal` aborts.
 */
export async function scoreJob(job: ScoringJob, signal: AbortSignal, options: ScorerOptions): Promise<Scorecard> {
  const work = followAbort(signal);
  const cancel = options.clock.schedule(options.jobTimeoutMs, () => work.abort());
  try {
    const results = await Promise.all(
      options.metricsOf(job.agent).map((configured) => scoreMetric(job, configured, signal, work.signal, options)),
    );
    signal.throwIfAborted();
    return { job, decision: decisionOf(results.map(({ verdict }) => verdict)), results };
  } finally {
    cancel();
    work.unfollow();
  }
}

async function scoreMetric(
  job: ScoringJob,
  { metric, params, evaluatorVersion }: ConfiguredMetric,
  stop: AbortSignal,
  stopOrDeadline: AbortSignal,
  { judge, clock, jobTimeoutMs, onDefect }: ScorerOptions,
): Promise<MetricResult> {
  const calls: JudgeCall[] = [];
  const startedAt = clock.now();
  let verdict: Verdict;
  try {
    // A conversation that waits for a person does not become a job; one whose last run broke off is not waiting.
    const input = { messages: job.messages, params, waiting: false };
    verdict = await metric.score(input, recordCalls(judge, calls), stopOrDeadline);
  } catch (error) {
    stop.throwIfAborted();
    if (stopOrDeadline.aborted) {
      verdict = { kind: 'failed', errorType: 'timeout', cause: `the job's deadline of ${jobTimeoutMs} ms passed` };
    } else {
      onDefect(metric.name, error);
      verdict = { kind: 'failed', errorType: 'unavailable', cause: 'internal error; see the log' };
    }
  }
  const { name, evaluator } = metric;
  const { threshold } = params;
  return { metric: name, evaluator, evaluatorVersion, threshold, verdict, calls, startedAt, endedAt: clock.now() };
}

function decisionOf(verdicts: readonly Verdict[]): Decision {
  const scored = verdicts.some(({ kind }) => kind === 'scored');
  const failed = verdicts.some(({ kind }) => kind === 'failed');
  if (scored) return failed ? 'partly_scored' : 'scored';
  return failed ? 'judge_failed' : 'empty';
}
