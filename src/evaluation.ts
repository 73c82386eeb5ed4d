import { INVALID_TRACEID, isValidTraceId, type Tracer } from '@opentelemetry/api';
import type { Config, JudgeConfig } from './config/config.ts';
import { DEFAULT_THREAD_BOUNDS } from './conversation/threads.ts';
import type { Judge } from './judge/judge.ts';
import type { Clock } from './lib/clock.ts';
import { findMetric } from './metrics/registry.ts';
import { decideClosing } from './sampling/decide-closing.ts';
import type { Scorecard } from './scoring/scorecard.ts';
import { type ConfiguredMetric, scoreJob } from './scoring/scorer.ts';
import { createMemoryStore } from './store/memory.ts';
import type { Store } from './store/store.ts';
import type { EvaluationMetrics } from './telemetry/evaluation-metrics.ts';
import { type LimitedLog, limitedLog } from './telemetry/limited-log.ts';
import type { Logger } from './telemetry/log.ts';
import { recordScorecard } from './telemetry/score-span.ts';

export interface EvaluationOptions {
  /** By agent; an agent with none is not judged. */
  readonly metrics: ReadonlyMap<string, readonly ConfiguredMetric[]>;
  /** Absent: nothing is judged. */
  readonly judge?: Judge & AsyncDisposable;
  readonly prometheus: EvaluationMetrics;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Evaluation {
  readonly store: Store;
  /** Ends what is under way within `graceMs`; what is left is counted as expired. */
  close(graceMs: number): Promise<void>;
}

/** Jobs that wait for the judge before the oldest is shed. */
const QUEUE_CAPACITY = 1000;

/**
 * A net below the deadlines of the single requests, whose number depends on the conversation: no job holds its place for
 * ever.
 */
const JOB_TIMEOUT_MS = 60 * 60_000;

/** What each agent is judged by: nothing while there is no judge. */
export function configuredMetrics(
  { agents }: Pick<Config, 'agents'>,
  judge: Judge | undefined,
): ReadonlyMap<string, readonly ConfiguredMetric[]> {
  return new Map(
    agents.map((agent) => [
      agent.name,
      agent.metrics.flatMap(({ name, params }) => {
        const metric = findMetric(name);
        return metric && judge ? [{ metric, params, evaluatorVersion: metric.version(params, judge.model) }] : [];
      }),
    ]),
  );
}

/** Everything behind a closed conversation: the decision, the queue, the judge, and the scores' way out. */
export function createEvaluation(config: Config, options: EvaluationOptions): Evaluation {
  const { metrics, judge, prometheus, tracer, clock, log } = options;
  const limited = limitedLog(log, () => clock.now());
  const metricsOf = (agent: string) => metrics.get(agent) ?? [];
  let expired = 0;
  const store = createMemoryStore({
    threads: { ...config.closing, ...DEFAULT_THREAD_BOUNDS },
    capacity: QUEUE_CAPACITY,
    clock,
    events: {
      onClosing(closing) {
        const { agent } = closing.conversation.key;
        prometheus.recordClosing(agent);
        const evaluatorVersions = metricsOf(agent).map((configured) => configured.evaluatorVersion);
        const rules = {
          sampling: config.sampling,
          evaluatorVersions,
          openAtStop: config.shutdown.openConversations,
        };
        const decided = decideClosing(closing, rules);
        if (decided.kind === 'judge') return void store.offer(decided.job);
        prometheus.recordDecision(agent, decided.decision);
        if (decided.decision === 'expired') expired += 1;
      },
      onDropped(job, why, cause) {
        prometheus.recordDecision(job.agent, why);
        const { agent } = job;
        if (cause !== undefined) {
          log.error({ agent, error: cause }, 'a sampled conversation was not judged; this is a defect');
        } else if (why === 'shed') log.warn({ agent, why }, 'a sampled conversation was not judged');
        // At a stop there may be thousands: one line says how many.
        if (why === 'expired') expired += 1;
      },
    },
  });

  if (judge && config.judge.kind === 'on') {
    const { concurrency } = config.judge;
    const scorer = {
      judge,
      metricsOf,
      jobTimeoutMs: JOB_TIMEOUT_MS,
      clock,
      onDefect: (metric: string, error: unknown) => log.error({ metric, error }, 'a metric failed; this is a defect'),
    };
    const spanOptions = {
      tracer,
      parentMaxAgeMs: config.telemetry.evalParentMaxAgeMs,
      whenUnsampled: config.telemetry.evalTraceWhenUnsampled,
      explanations: config.telemetry.explanations,
      ...(judge.endpoint && { judgeEndpoint: judge.endpoint }),
    };
    /** The decision is counted even if its spans cannot be made. */
    const spansOf = (scorecard: Scorecard): ReadonlyMap<string, string> => {
      try {
        return recordScorecard(scorecard, spanOptions);
      } catch (error) {
        log.error({ error }, 'the spans of a scorecard could not be made; this is a defect');
        return new Map();
      }
    };
    store.consume(
      async (job, signal) => {
        const scorecard = await scoreJob(job, signal, scorer);
        prometheus.recordScorecard(scorecard, spansOf(scorecard));
        logScorecard(scorecard, log, limited);
      },
      { concurrency, admission: () => judge.admission?.() ?? UNLIMITED },
    );
  }

  return {
    store,
    async close(graceMs) {
      const closed = store.close(graceMs);
      const { queued, inFlight } = store.stats();
      if (queued + inFlight > 0) log.info({ queued, inFlight, graceMs: Math.round(graceMs) }, 'judging what was open');
      await closed;
      // The counter ends with the process, most likely before it is scraped again.
      if (expired > 0) log.warn({ expired }, 'conversations that were open will not be judged');
      await judge?.[Symbol.asyncDispose]();
    },
  };
}

const UNLIMITED = { limit: Infinity };

/** Numbers and the trace to look at: what was said, and the judge's words about it, stay out of the log. */
function logScorecard({ job, decision, results }: Scorecard, log: Logger, limited: LimitedLog): void {
  const scores = Object.fromEntries(
    results.flatMap(({ metric, verdict }) => (verdict.kind === 'scored' ? [[metric, verdict.value]] : [])),
  );
  const { agent, cause: closing } = job;
  const { traceId = INVALID_TRACEID } = job.runs.at(-1)?.trace ?? {};
  const isJudged = decision !== 'judge_failed';
  log.info(
    { agent, decision, closing, scores, ...(isValidTraceId(traceId) && { traceId }) },
    isJudged ? 'judged a conversation' : 'asked the judge about a conversation, in vain',
  );
  for (const { metric, verdict } of results) {
    if (verdict.kind !== 'failed') continue;
    const { errorType, cause } = verdict;
    const members = { agent: job.agent, metric, errorType, cause };
    limited('warn', `judge ${job.agent} ${metric} ${errorType}`, 'the judge gave no usable answer', members);
  }
}

/** The judge that the configuration asks for. Its client is loaded only when there is one. */
export async function openJudge(config: JudgeConfig, clock: Clock): Promise<(Judge & AsyncDisposable) | undefined> {
  if (config.kind === 'off') return undefined;
  const { createOpenAiJudge } = await import('./judge/openai-judge.ts');
  return createOpenAiJudge({ ...config, now: () => clock.now() });
}
