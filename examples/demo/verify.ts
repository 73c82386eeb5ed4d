import type { Conversation, ExpectedScore } from '../conversations.ts';
import type { ReceivedSpan } from './otlp-receiver.ts';
import { sumOf, type Sample } from './prometheus-text.ts';
import { latest, readResults, type Result } from './results.ts';

/** The metrics that the demo has judged, and from which value on they pass. */
export const METRICS = { agent_goal_accuracy: 1, topic_adherence: 0.8 } as const;

type MetricName = keyof typeof METRICS;

/** What was held, and what has come out of it so far. */
export interface Evidence {
  readonly conversations: readonly { readonly conversation: Conversation; readonly threadId: string }[];
  readonly spans: readonly ReceivedSpan[];
  readonly samples: readonly Sample[];
}

/**
 * Checks that every score reached both places: the OTLP receiver, on the right trace, and Prometheus, in the right sums.
 *
 * @returns what is missing or wrong, one sentence each; nothing when all is there.
 */
export function findMissing(evidence: Evidence): string[] {
  const results = readResults(evidence.spans);
  return [
    ...evidence.conversations.flatMap(({ conversation, threadId }) => missingSpans(conversation, threadId, results)),
    ...results.flatMap((result) => misplaced(result, evidence.spans)),
    ...Object.entries(METRICS).flatMap(([metric, threshold]) =>
      wrongSums(metric, threshold, results, evidence.samples),
    ),
    ...wrongDecisions(evidence, results),
  ];
}

function missingSpans({ expected }: Conversation, threadId: string, results: readonly Result[]): string[] {
  if (expected.kind === 'waiting') return [];
  const wanted: readonly (readonly [MetricName, ExpectedScore])[] = [
    ['agent_goal_accuracy', expected.goal],
    ['topic_adherence', expected.topics],
  ];
  return wanted.flatMap(([metric, score]) => {
    const result = latest(results, threadId, metric);
    if (result === undefined) return [`OTLP: no evaluation span of ${metric} for ${threadId}.`];
    const given = result.value ?? result.verdict;
    const same =
      typeof score === 'number' && typeof given === 'number' ? Math.abs(score - given) < 1e-12 : score === given;
    return same
      ? []
      : [`OTLP: ${metric} of ${threadId} is ${given}, expected ${score}. Reason given: ${result.reason}`];
  });
}

/** A score belongs below the run that it judges, and says what it says in the event of the conventions too. */
function misplaced({ span, threadId, metric, value, label }: Result, spans: readonly ReceivedSpan[]): string[] {
  const parent = spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId);
  const ofRun =
    parent?.attributes['gen_ai.operation.name'] === 'invoke_agent' &&
    parent.attributes['gen_ai.conversation.id'] === threadId;
  const event = span.events.find(({ name }) => name === 'gen_ai.evaluation.result');
  const sameInEvent =
    event?.attributes['gen_ai.evaluation.name'] === metric &&
    event.attributes['gen_ai.evaluation.score.value'] === value &&
    event.attributes['gen_ai.evaluation.score.label'] === label;
  const where = `the evaluation span of ${metric} for ${threadId}`;
  return [
    ...(ofRun ? [] : [`OTLP: ${where} is not a child of an invoke_agent span of that conversation.`]),
    ...(sameInEvent ? [] : [`OTLP: ${where} has no gen_ai.evaluation.result event that says the same.`]),
  ];
}

/** Both places count the same scores: none lost, none made up. */
function wrongSums(
  metric: string,
  threshold: number,
  results: readonly Result[],
  samples: readonly Sample[],
): string[] {
  const values = results.flatMap((result) =>
    result.metric === metric && result.value !== undefined ? [result.value] : [],
  );
  const wanted: readonly (readonly [string, number])[] = [
    ['agui_eval_scores_total', values.length],
    ['agui_eval_score_sum_total', values.reduce((sum, value) => sum + value, 0)],
    ['agui_eval_passes_total', values.filter((value) => value >= threshold).length],
    ['agui_eval_score_count', values.length],
  ];
  return wanted.flatMap(([name, expected]) => different(name, { metric }, expected, samples));
}

/** Every closing ends in one decision; and of each kind there are as many as the conversations call for. */
function wrongDecisions({ conversations, samples }: Evidence, results: readonly Result[]): string[] {
  const decisions = sumOf(samples, 'agui_eval_conversations_total') ?? 0;
  const waiting = conversations.filter(({ conversation }) => conversation.expected.kind === 'waiting').length;
  const judged = Map.groupBy(results, ({ threadId, revision }) => `${threadId} ${revision}`);
  const scored = [...judged.values()].filter((verdicts) => verdicts.some(({ verdict }) => verdict === 'scored')).length;
  const closings = judged.size + waiting;
  return [
    ...different('agui_eval_closings_total', {}, closings, samples),
    ...(decisions === closings
      ? []
      : [`Prometheus: agui_eval_conversations_total adds up to ${decisions}, expected ${closings}.`]),
    ...different('agui_eval_conversations_total', { decision: 'scored' }, scored, samples),
    ...different('agui_eval_conversations_total', { decision: 'empty' }, judged.size - scored, samples),
    ...different('agui_eval_conversations_total', { decision: 'incomplete' }, waiting, samples),
  ];
}

function different(
  name: string,
  labels: Readonly<Record<string, string>>,
  expected: number,
  samples: readonly Sample[],
): string[] {
  const given = sumOf(samples, name, labels);
  if (given !== undefined && Math.abs(given - expected) < 1e-9) return [];
  const selector = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return [`Prometheus: ${name}{${selector.join()}} is ${given ?? 'missing'}, expected ${expected}.`];
}
