import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { JudgeCall } from '../judge/judge.ts';
import type { MetricResult, RunReference, Scorecard, ScoringJob } from '../scoring/scorecard.ts';
import { withForcedSampling } from './force-sampling.ts';
import { ATTRIBUTE, EVALUATION_RESULT_EVENT, OPERATION, OTHER } from './semconv.ts';
import { fromSpanLink, isSampled, toHrTime, toId, toName, truncate } from './span-context.ts';

export interface ScoreSpanOptions {
  readonly tracer: Tracer;
  /** A run that ended longer ago gets no late children: its trace may be closed. */
  readonly parentMaxAgeMs: number;
  /** What becomes of the spans when the run's trace was not sampled: a trace of their own, or nothing. */
  readonly whenUnsampled: 'link' | 'drop';
  /** Whether verdicts are explained: the judge's reasons, and the causes of failures, may quote the conversation. */
  readonly explanations: boolean;
  /** Host and port of the judge's endpoint. */
  readonly judgeEndpoint?: { readonly host: string; readonly port: number };
}

/** Also the SDK's own limit, which would drop the oldest without a word in the span. */
const LINKS_PER_SPAN = 128;
/** Of a judge's reason, or of what went wrong with it. */
const TEXT_LIMIT = 2048;

/**
 * Records each result of a scorecard as an `evaluation` span with a `gen_ai.evaluation.result` event, and each judge call
 * as a `chat` span below it. The spans are children of the last run's span, although that has ended; or, when that run
 * was not sampled or is too old, roots of traces of their own, linked to it and sampled whatever the sampler says.
 *
 * @returns per metric the id of the trace that holds its span, for exemplars; nothing for spans that were not sampled.
 */
export function recordScorecard({ job, results }: Scorecard, options: ScoreSpanOptions): ReadonlyMap<string, string> {
  const traceIds = new Map<string, string>();
  if (results.length === 0) return traceIds;
  const placement = placeOf(job, Math.min(...results.map(({ startedAt }) => startedAt)), options);
  if (placement === undefined) return traceIds;
  for (const result of results) {
    const traceId = recordResult(job, result, placement, options);
    if (traceId !== undefined) traceIds.set(result.metric, traceId);
  }
  return traceIds;
}

/** Where the spans of a scorecard hang. */
interface Placement {
  readonly parent: Context;
  readonly links: readonly Link[];
}

function placeOf({ runs }: ScoringJob, startedAt: number, options: ScoreSpanOptions): Placement | undefined {
  const { parentMaxAgeMs, whenUnsampled } = options;
  const last = runs.at(-1);
  const span = last && fromSpanLink(last.trace);
  if (last === undefined || span === undefined || !isSampled(span)) {
    if (whenUnsampled === 'drop') return undefined;
  } else if (startedAt - last.endedAt <= parentMaxAgeMs) {
    return { parent: trace.setSpanContext(ROOT_CONTEXT, span), links: linksTo(runs.slice(0, -1)) };
  }
  return { parent: withForcedSampling(ROOT_CONTEXT), links: linksTo(runs) };
}

/** Links to the latest of `runs`, as many as a span holds. A run that nothing traced has no span to link to. */
function linksTo(runs: readonly RunReference[]): Link[] {
  return runs
    .flatMap(({ runId, trace: link }) => {
      const spanContext = fromSpanLink(link);
      return spanContext ? [{ context: spanContext, attributes: { [ATTRIBUTE.runId]: toId(runId) ?? '' } }] : [];
    })
    .slice(-LINKS_PER_SPAN);
}

function recordResult(
  job: ScoringJob,
  result: MetricResult,
  { parent, links }: Placement,
  { tracer, judgeEndpoint, explanations }: ScoreSpanOptions,
): string | undefined {
  const event = eventAttributes(job, result, explanations);
  const attributes = { ...event, ...provenance(job, result) };
  const name = `${OPERATION.evaluation} ${result.metric}`;
  const startTime = toHrTime(result.startedAt);
  const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, attributes, links: [...links] }, parent);
  const within = trace.setSpan(parent, span);
  for (const call of result.calls) recordJudgeCall(tracer, within, call, judgeEndpoint);
  span.addEvent(EVALUATION_RESULT_EVENT, event, toHrTime(result.endedAt));
  if (result.verdict.kind === 'failed') {
    const { errorType, cause } = result.verdict;
    span.setStatus({ code: SpanStatusCode.ERROR, message: explanations ? truncate(cause, TEXT_LIMIT) : errorType });
  }
  // A void span, made while nothing traces, answers with the context of its parent.
  const traceId = span.isRecording() ? span.spanContext().traceId : undefined;
  span.end(toHrTime(Math.max(result.startedAt, result.endedAt)));
  return traceId;
}

/** A verdict that is not scored has neither value nor label: its kind is an attribute of its own. */
function eventAttributes({ runs }: ScoringJob, { metric, verdict }: MetricResult, explanations: boolean): Attributes {
  const explained = (text: string) => (explanations ? { [ATTRIBUTE.explanation]: truncate(text, TEXT_LIMIT) } : {});
  const common = { [ATTRIBUTE.evaluationName]: metric, [ATTRIBUTE.responseId]: toId(runs.at(-1)?.runId) };
  switch (verdict.kind) {
    case 'scored':
      // A value that is no number is a defect, which the metrics count. It is not a score.
      if (!Number.isFinite(verdict.value)) return { ...common, [ATTRIBUTE.errorType]: OTHER };
      return {
        ...common,
        [ATTRIBUTE.scoreValue]: verdict.value,
        [ATTRIBUTE.scoreLabel]: verdict.label,
        ...explained(verdict.reason),
      };
    case 'not_applicable':
      return { ...common, ...explained(verdict.why) };
    case 'failed':
      return { ...common, [ATTRIBUTE.errorType]: verdict.errorType };
  }
}

/** What the evaluation was of, and what made it: enough to weigh the score, and to tell one evaluator from its next. */
function provenance(job: ScoringJob, result: MetricResult): Attributes {
  return {
    [ATTRIBUTE.operationName]: OPERATION.evaluation,
    [ATTRIBUTE.agentName]: job.agent,
    [ATTRIBUTE.conversationId]: toId(job.threadId),
    [ATTRIBUTE.sessionId]: toId(job.threadId),
    [ATTRIBUTE.runId]: toId(job.runs.at(-1)?.runId),
    [ATTRIBUTE.verdictKind]: result.verdict.kind,
    [ATTRIBUTE.evaluatorType]: result.evaluator,
    [ATTRIBUTE.evaluatorVersion]: result.evaluatorVersion,
    [ATTRIBUTE.threshold]: result.threshold,
    [ATTRIBUTE.samplingRate]: job.probability,
    [ATTRIBUTE.samplingWeight]: 1 / job.probability,
    [ATTRIBUTE.samplingStratum]: job.stratum,
    [ATTRIBUTE.turns]: job.messages.filter(({ role }) => role === 'user').length,
    [ATTRIBUTE.runCount]: job.runs.length,
    [ATTRIBUTE.revision]: job.revision,
    [ATTRIBUTE.closingCause]: job.cause,
  };
}

function recordJudgeCall(
  tracer: Tracer,
  parent: Context,
  call: JudgeCall,
  endpoint: ScoreSpanOptions['judgeEndpoint'],
): void {
  const attributes = {
    [ATTRIBUTE.operationName]: OPERATION.chat,
    [ATTRIBUTE.providerName]: 'openai',
    [ATTRIBUTE.requestModel]: toId(call.model),
    [ATTRIBUTE.responseModel]: toId(call.responseModel),
    [ATTRIBUTE.responseId]: toId(call.responseId),
    [ATTRIBUTE.inputTokens]: call.inputTokens,
    [ATTRIBUTE.outputTokens]: call.outputTokens,
    [ATTRIBUTE.judgeSchema]: call.schemaName,
    [ATTRIBUTE.serverAddress]: endpoint?.host,
    [ATTRIBUTE.serverPort]: endpoint?.port,
    [ATTRIBUTE.errorType]: call.outcome === 'success' ? undefined : call.outcome,
  };
  const name = `${OPERATION.chat} ${toName(call.model)}`;
  const startTime = toHrTime(call.startedAt);
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, parent);
  if (call.outcome !== 'success') span.setStatus({ code: SpanStatusCode.ERROR, message: call.outcome });
  span.end(toHrTime(Math.max(call.startedAt, call.endedAt)));
}
