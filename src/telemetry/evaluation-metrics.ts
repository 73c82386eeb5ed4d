import { JUDGE_ERROR_TYPES } from '../judge/judge.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Verdict } from '../metrics/metric.ts';
import { type Decision, DECISIONS, type MetricResult, type Scorecard, type ScoringJob } from '../scoring/scorecard.ts';
import { boundedLabel, combinations, type Instruments, type Labels } from './instruments.ts';
import { METRIC } from './semconv.ts';

const SCORE_BUCKETS = Array.from({ length: 11 }, (_, tenth) => tenth / 10);
/** Durations in seconds, as the GenAI conventions cut them. */
const JUDGE_BUCKETS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** A score waits for its conversation to close: a quarter of an hour by default, a day for one that waits for a person. */
const LAG_BUCKETS = [1, 5, 15, 60, 300, 600, 900, 1200, 1800, 3600, 7200, 21_600, 86_400];

/** One score in a thousand million: the weight of a rarer one, squared, would drown all others in rounding. */
const LEAST_PROBABILITY = 1e-9;

const JUDGE_OUTCOMES = ['success', ...JUDGE_ERROR_TYPES];
const VERDICT_KINDS: readonly Verdict['kind'][] = ['scored', 'not_applicable', 'failed'];
const TOPIC_OUTCOMES = ['on_topic_answered', 'off_topic_answered', 'on_topic_refused', 'off_topic_refused'];
const TOKEN_TYPES = ['input', 'output'];

interface EvaluatedMetric {
  readonly name: string;
  readonly evaluatorVersion: string;
  /** The model asked for; empty for a metric that asks none. */
  readonly judgeModel: string;
}

export interface EvaluationMetricsOptions {
  readonly agents: readonly { readonly name: string; readonly metrics: readonly EvaluatedMetric[] }[];
  /** What waits to be judged, read at each scrape. */
  readonly queue: () => { readonly queued: number; readonly capacity: number; readonly inFlight: number };
}

export interface EvaluationMetrics {
  /** A conversation closed. It will be followed by exactly one decision. */
  recordClosing(agent: string): void;
  /** A closing ended in a decision without having been judged. */
  recordDecision(agent: string, decision: Decision): void;
  /**
   * A closing was judged: counts its decision and all its results.
   *
   * @param traceIds per metric the trace that an exemplar points to.
   */
  recordScorecard(scorecard: Scorecard, traceIds?: ReadonlyMap<string, string>): void;
}

export function createEvaluationMetrics(
  instruments: Instruments,
  { agents, queue }: EvaluationMetricsOptions,
): EvaluationMetrics {
  const names = agents.map(({ name }) => name);
  const agentLabel = boundedLabel(names);
  const metricLabel = boundedLabel(agents.flatMap(({ metrics }) => metrics.map(({ name }) => name)));
  const modelLabel = boundedLabel(agents.flatMap(({ metrics }) => metrics.map(({ judgeModel }) => judgeModel)));
  const models = modelLabel.values.filter((model) => model !== '');
  const pairs = agents.flatMap(({ name, metrics }) => metrics.map((metric) => ({ agent: name, metric: metric.name })));
  const metricNames = [...new Set(pairs.map(({ metric }) => metric))];
  const withEach = (label: string, values: readonly string[]) =>
    pairs.flatMap((pair) => values.map((value) => ({ ...pair, [label]: value })));
  const perPair = (name: string, help: string) =>
    instruments.counter({ name, help, labels: ['agent', 'metric'], known: pairs });

  const sums = {
    scores: perPair(METRIC.scores, 'Scores given. Its increase is the n of every mean and ratio.'),
    scoreSum: perPair(METRIC.scoreSum, 'Sum of the scores, each in [0, 1].'),
    scoreSquaresSum: perPair(METRIC.scoreSquaresSum, 'Sum of the squared scores.'),
    passes: perPair(METRIC.passes, "Scores at or above the metric's threshold."),
    weightSum: perPair(METRIC.weightSum, 'Sum of the sampling weights w = 1/π of the scores.'),
    weightedScoreSum: perPair(METRIC.weightedScoreSum, 'Sum of weight times score.'),
    weightedScoreSquaresSum: perPair(METRIC.weightedScoreSquaresSum, 'Sum of weight times squared score.'),
    weightSquaresSum: perPair(METRIC.weightSquaresSum, 'Sum of the squared weights.'),
    weightedPassesSum: perPair(METRIC.weightedPassesSum, 'Sum of the weights of the passes.'),
  };
  const distribution = instruments.histogram({
    name: METRIC.score,
    help: 'Distribution of the scores.',
    labels: ['agent', 'metric'],
    known: pairs,
    buckets: SCORE_BUCKETS,
  });
  const verdicts = instruments.counter({
    name: METRIC.verdicts,
    help: 'Results of judging one conversation by one metric.',
    labels: ['agent', 'metric', 'kind'],
    known: withEach('kind', VERDICT_KINDS),
  });
  const judgeRequests = instruments.counter({
    name: METRIC.judgeRequests,
    help: 'Requests to the judge, retries and repairs included, by success or type of error.',
    labels: ['agent', 'metric', 'outcome'],
    known: withEach('outcome', JUDGE_OUTCOMES),
  });
  const judgeDuration = instruments.histogram({
    name: METRIC.judgeDuration,
    help: 'Seconds that one request to the judge took.',
    labels: ['metric'],
    known: metricNames.map((metric) => ({ metric })),
    buckets: JUDGE_BUCKETS,
  });
  const judgeTokens = instruments.counter({
    name: METRIC.judgeTokens,
    help: 'Tokens that the judge reported, by the model asked for.',
    labels: ['model', 'type'],
    known: combinations({ model: models, type: TOKEN_TYPES }),
  });
  const topicOutcomes = instruments.counter({
    name: METRIC.topicOutcomes,
    help: 'Topics that users raised, by whether they were in scope and whether the agent answered.',
    labels: ['agent', 'outcome'],
    known: combinations({ agent: names, outcome: TOPIC_OUTCOMES }),
  });
  const closings = instruments.counter({
    name: METRIC.closings,
    help: 'Conversations that closed. At rest it equals the sum of all decisions.',
    labels: ['agent'],
    known: combinations({ agent: names }),
  });
  const conversations = instruments.counter({
    name: METRIC.conversations,
    help: 'Closings by the one decision that each ended in.',
    labels: ['agent', 'decision'],
    known: combinations({ agent: names, decision: DECISIONS }),
  });
  const lag = instruments.histogram({
    name: METRIC.lag,
    help: "Seconds from the end of a conversation's last run to its score.",
    labels: [],
    known: [{}],
    buckets: LAG_BUCKETS,
  });
  instruments.gauge(METRIC.queueLength, 'Conversations that wait to be judged.', () => queue().queued);
  instruments.gauge(METRIC.queueCapacity, 'Conversations that may wait; one more sheds one.', () => queue().capacity);
  instruments.gauge(METRIC.inFlight, 'Conversations being judged.', () => queue().inFlight);
  instruments.info({
    name: METRIC.metricInfo,
    help: 'Always 1. The evaluator of a metric: scores before and after a change of it are not comparable.',
    labels: ['agent', 'metric', 'evaluator_version', 'judge_model'],
    known: agents.flatMap(({ name, metrics }) =>
      metrics.map(({ name: metric, evaluatorVersion, judgeModel }) => ({
        agent: name,
        metric,
        evaluator_version: evaluatorVersion,
        judge_model: judgeModel,
      })),
    ),
  });

  function recordScore(labels: Labels, value: number, threshold: number, probability: number, traceId?: string): void {
    if (!(value >= 0 && value <= 1)) return instruments.refuse(METRIC.score, value);
    const weight = 1 / probability;
    if (!(probability >= LEAST_PROBABILITY && probability <= 1)) return instruments.refuse(METRIC.weightSum, weight);
    const pass = value >= threshold ? 1 : 0;
    sums.scores.inc(labels);
    sums.scoreSum.inc(labels, value);
    sums.scoreSquaresSum.inc(labels, value ** 2);
    sums.passes.inc(labels, pass);
    sums.weightSum.inc(labels, weight);
    sums.weightedScoreSum.inc(labels, weight * value);
    sums.weightedScoreSquaresSum.inc(labels, weight * value ** 2);
    sums.weightSquaresSum.inc(labels, weight ** 2);
    sums.weightedPassesSum.inc(labels, weight * pass);
    distribution.observe(labels, value, traceId);
  }

  function recordResult(job: ScoringJob, result: MetricResult, traceId?: string): void {
    const agent = agentLabel.of(job.agent);
    const metric = metricLabel.of(result.metric);
    const { verdict, calls, threshold } = result;
    verdicts.inc({ agent, metric, kind: verdict.kind });
    if (verdict.kind === 'scored') {
      recordScore({ agent, metric }, verdict.value, threshold, job.probability, traceId);
      const lastRun = job.runs.at(-1);
      if (lastRun) lag.observe({}, Math.max(0, result.endedAt - lastRun.endedAt) / 1000);
    }
    for (const [outcome, count] of topicOutcomesOf(verdict)) topicOutcomes.inc({ agent, outcome }, count);
    for (const call of calls) {
      judgeRequests.inc({ agent, metric, outcome: call.outcome });
      judgeDuration.observe({ metric }, Math.max(0, call.endedAt - call.startedAt) / 1000);
      const model = modelLabel.of(call.model);
      if (call.inputTokens !== undefined) judgeTokens.inc({ model, type: 'input' }, call.inputTokens);
      if (call.outputTokens !== undefined) judgeTokens.inc({ model, type: 'output' }, call.outputTokens);
    }
  }

  const recordDecision = (agent: string, decision: Decision) =>
    conversations.inc({ agent: agentLabel.of(agent), decision });

  return {
    recordClosing: (agent) => closings.inc({ agent: agentLabel.of(agent) }),
    recordDecision,
    recordScorecard({ job, decision, results }, traceIds) {
      recordDecision(job.agent, decision);
      for (const result of results) recordResult(job, result, traceIds?.get(result.metric));
    },
  };
}

/** The four counts that topic adherence puts into `details.outcomes`; nothing from a verdict that holds none. */
function topicOutcomesOf(verdict: Verdict): [outcome: string, count: number][] {
  const outcomes = isJsonObject(verdict.details) ? verdict.details['outcomes'] : undefined;
  if (!isJsonObject(outcomes)) return [];
  return TOPIC_OUTCOMES.flatMap((outcome) => {
    const count = outcomes[outcome];
    return typeof count === 'number' ? [[outcome, count] as [string, number]] : [];
  });
}
