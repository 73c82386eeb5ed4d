import { collectDefaultMetrics, type OpenMetricsContentType, Registry } from 'prom-client';
import { SPAN_OUTCOMES, type SpanOutcome } from './counted-export.ts';
import {
  createEvaluationMetrics,
  type EvaluationMetrics,
  type EvaluationMetricsOptions,
} from './evaluation-metrics.ts';
import { asksForOpenMetrics, OPENMETRICS_TYPE, TEXT_TYPE, toTextFormat } from './exposition.ts';
import { combinations, createInstruments } from './instruments.ts';
import { createProxyMetrics, type ProxyMetrics, type ProxyMetricsOptions } from './proxy-metrics.ts';
import { METRIC } from './semconv.ts';

export interface PrometheusOptions {
  /** What is configured, and so every value that the labels `agent`, `metric`, `tool` and `model` can take. */
  readonly agents: readonly (ProxyMetricsOptions['agents'][number] & EvaluationMetricsOptions['agents'][number])[];
  readonly eventTypes: ProxyMetricsOptions['eventTypes'];
  readonly queue: EvaluationMetricsOptions['queue'];
  /** Spans that wait to be exported, read at each scrape. */
  readonly spanQueueLength: () => number;
  /** Log lines that could not be written, since the start. */
  readonly logLinesLost: () => number;
  readonly build: { readonly version: string; readonly revision: string };
  /** Told of each value that no series could take: a defect, to be logged. */
  readonly onRefused: (series: string, value: number) => void;
}

export interface Prometheus extends ProxyMetrics, EvaluationMetrics {
  recordSpans(outcome: SpanOutcome, count: number): void;
  /** All series in the format that the `Accept` header of a scrape asks for. */
  exposition(accept: string): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Gauges of prom-client's that bear the suffix of a counter, which OpenMetrics forbids. Each is the sum of another by type. */
const MISNAMED_GAUGES = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Makes every series of the sidecar, those that can be known beforehand at 0. See docs/telemetry.md. */
export function createPrometheus(options: PrometheusOptions): Prometheus {
  // Exemplars need a registry of this type, and a registry has one type: the text format is converted from it.
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const instruments = createInstruments(registry, options.onRefused);
  const spans = instruments.counter({
    name: METRIC.otelSpans,
    help: 'Spans that ended, by what became of them. Those that failed or were dropped are lost.',
    labels: ['outcome'],
    known: combinations({ outcome: SPAN_OUTCOMES }),
  });
  instruments.gauge(METRIC.otelQueueLength, 'Spans that wait to be exported.', options.spanQueueLength);
  instruments.countedElsewhere(
    METRIC.logLinesLost,
    'Lines of the log that standard error did not take, because it was full, gone or not read.',
    options.logLinesLost,
  );
  instruments.info({
    name: METRIC.buildInfo,
    help: 'Always 1. What is running.',
    labels: ['version', 'revision'],
    known: [{ ...options.build }],
  });
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_GAUGES) registry.removeSingleMetric(name);

  return {
    ...createProxyMetrics(instruments, options),
    ...createEvaluationMetrics(instruments, options),
    recordSpans: (outcome, count) => spans.inc({ outcome }, count),
    async exposition(accept) {
      const body = await registry.metrics();
      return asksForOpenMetrics(accept)
        ? { contentType: OPENMETRICS_TYPE, body }
        : { contentType: TEXT_TYPE, body: toTextFormat(body) };
    },
  };
}
