import type { Tracer } from '@opentelemetry/api';
import type { Config, JudgeConfig } from './config/config.ts';
import { DEFAULT_THREAD_BOUNDS } from './conversation/threads.ts';
import type { Judge } from './judge/judge.ts';
import type { Clock } from './lib/clock.ts';
import { METRICS } from './metrics/registry.ts';
import { decideClosing } from './sampling/decide-closing.ts';
import type { Scorecard } from './scoring/scorecard.ts';
import { type ConfiguredMetric, scoreJob } from './scoring/scorer.ts';
import { createMemoryStore } from './store/memory.ts';
import type { Store } from './store/store.ts';
import type { EvaluationMetrics } from './telemetry/evaluation-metrics.ts';
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

/** Two metrics of two questions each, each put a second time for repair, if all had to wait for one another. */
const REQUESTS_PER_JOB = 8;

/** What each agent is judged by: nothing while the judge is off. */
export function configuredMetrics({ agents, judge }: Config): ReadonlyMap<string, readonly ConfiguredMetric[]> {
  return new Map(
    agents.map((agent) => [
      agent.name,
      judge.kind === 'off'
        ? []
        : agent.metrics.flatMap(({ name, params }) => {
            const metric = METRICS.find((each) => each.name === name);
            return metric ? [{ metric, params: metric.params.parse(params) }] : [];
          }),
    ]),
  );
}

/** Everything behind a closed conversation: the decision, the queue, the judge, and the scores' way out. */
export function createEvaluation(config: Config, options: EvaluationOptions): Evaluation {
  const { metrics, judge, prometheus, tracer, clock, log } = options;
  const metricsOf = (agent: string) => metrics.get(agent) ?? [];
  const evaluatorVersions = new Map(
    [...metrics].map(([agent, all]) => [
      agent,
      judge ? all.map(({ metric, params }) => metric.version(params, judge.model)) : [],
    ]),
  );

  const store = createMemoryStore({
    threads: { ...config.closing, ...DEFAULT_THREAD_BOUNDS },
    capacity: QUEUE_CAPACITY,
    clock,
    events: {
      onClosing(closing) {
        const { agent } = closing.conversation.key;
        prometheus.recordClosing(agent);
        const rules = { sampling: config.sampling, evaluatorVersions: evaluatorVersions.get(agent) ?? [] };
        const decided = decideClosing(closing, rules);
        if (decided.kind === 'decided') prometheus.recordDecision(agent, decided.decision);
        else void store.offer(decided.job);
      },
      onDropped(job, why) {
        prometheus.recordDecision(job.agent, why);
        log.warn({ agent: job.agent, why }, 'a sampled conversation was not judged');
      },
    },
  });

  if (judge && config.judge.kind === 'on') {
    const { timeoutMs, retries, concurrency } = config.judge;
    const scorer = {
      judge,
      metricsOf,
      jobTimeoutMs: REQUESTS_PER_JOB * (retries + 1) * timeoutMs,
      clock,
      onDefect: (metric: string, error: unknown) => log.error({ metric, error }, 'a metric failed; this is a defect'),
    };
    const spanOptions = {
      tracer,
      parentMaxAgeMs: config.telemetry.evalParentMaxAgeMs,
      whenUnsampled: config.telemetry.evalTraceWhenUnsampled,
      ...(judge.endpoint && { judgeEndpoint: judge.endpoint }),
    };
    store.consume(
      async (job, signal) => {
        const scorecard = await scoreJob(job, signal, scorer);
        prometheus.recordScorecard(scorecard, recordScorecard(scorecard, spanOptions));
        logFailures(scorecard, log);
      },
      { concurrency },
    );
  }

  return {
    store,
    async close(graceMs) {
      await store.close(graceMs);
      await judge?.[Symbol.asyncDispose]();
    },
  };
}

function logFailures({ job, results }: Scorecard, log: Logger): void {
  for (const { metric, verdict } of results) {
    if (verdict.kind !== 'failed') continue;
    const { errorType, cause } = verdict;
    log.warn({ agent: job.agent, metric, errorType, cause }, 'the judge gave no usable answer');
  }
}

/** The judge that the configuration asks for. Its client is loaded only when there is one. */
export async function openJudge(config: JudgeConfig): Promise<(Judge & AsyncDisposable) | undefined> {
  if (config.kind === 'off') return undefined;
  const { createOpenAiJudge } = await import('./judge/openai-judge.ts');
  return createOpenAiJudge(config);
}
