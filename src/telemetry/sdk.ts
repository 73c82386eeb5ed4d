import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { context, diag, propagation, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { startNodeSdk } from '@opentelemetry/sdk-node';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import { systemClock } from '../lib/clock.ts';
import { maskUrls } from '../lib/mask-urls.ts';
import { openCollectorConnections } from './collector-connections.ts';
import { consoleExport } from './console-export.ts';
import { countedExport, type SpanOutcome } from './counted-export.ts';
import { diagLog } from './diag-log.ts';
import { exportFailureLog, exportRemedy, failureOf } from './export-failure.ts';
import { isSamplingForced } from './force-sampling.ts';
import { limitedLog } from './limited-log.ts';
import type { Logger } from './log.ts';
import {
  batchLimits,
  diagLevel,
  endpointVariable,
  environmentProblems,
  exporterNames,
  limitsAttributeLength,
  type SamplerChoice,
  samplerChoice,
  serviceName,
  tracesEndpoint,
  valueOf,
} from './otel-environment.ts';

/*
 * The one importer of the SDK. Loading it takes a second or more and much memory: `main.ts` imports this file after the
 * proxy listens, and until then the API's spans are void.
 */

export interface TelemetryOptions {
  readonly serviceVersion: string;
  readonly log: Logger;
  /** Told what became of spans. */
  readonly onSpans: (outcome: SpanOutcome, count: number) => void;
  /** How long shutting down may take. Default 5,000. */
  readonly timeoutMs?: number;
}

export interface Telemetry extends AsyncDisposable {
  /** False: all of it is turned off, and every span is void. */
  readonly isTracing: boolean;
  /** Spans that wait to be sent. */
  queueLength(): number;
  /** Sends what waits and stops. Never rejects, never takes longer than `timeoutMs`, and does nothing the second time. */
  shutdown(): Promise<void>;
}

/** A collector has next to nothing to say: that it took the spans, or how many it did not and why. */
const ANSWER_BYTES_LIMIT = 64 * 1024;

/** The SDK has no limit of its own: one long value would be exported whole. */
const ATTRIBUTE_LENGTH_LIMIT = 8192;

/**
 * Starts tracing, configured by the OTEL_* variables of the process, and registers it with the OpenTelemetry API. Traces
 * only: metrics are served to Prometheus and logs go to standard error. A collector that is down or silent costs spans,
 * which are counted, and never the caller.
 */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { serviceVersion, log, onSpans, timeoutMs = 5_000 } = options;
  // The SDK reads this environment and no other, so an argument would be obeyed by halves.
  const { env } = process;
  for (const problem of environmentProblems(env)) log.warn(`OpenTelemetry: ${problem}`);

  const names = exporterNames(env);
  if (names.length === 0) return off();

  const limited = limitedLog(log, () => systemClock.now());
  const logger = diagLog(log, limited);
  const logOptions = { logLevel: diagLevel(env), suppressOverrideMessage: true };
  diag.setLogger(logger, logOptions);

  const logExportFailure = exportFailureLog(limited, {
    endpoint: tracesEndpoint(env),
    variable: endpointVariable(env),
  });
  let spansFailed = 0;
  let lastFailure: number | string | undefined;
  const limits = batchLimits(env);
  const counted = countedExport({
    exporter: new OTLPTraceExporter({
      // Later than this nobody waits for a batch.
      httpAgentOptions: (protocol) =>
        openCollectorConnections(protocol, env, {
          maxBytes: ANSWER_BYTES_LIMIT,
          timeoutMs: limits.exportTimeoutMillis,
        }),
    }),
    capacity: limits.maxQueueSize,
    batch: (exporter) => new BatchSpanProcessor({ exporter, ...limits }),
    onSpans,
    onFailed(error, count) {
      spansFailed += count;
      lastFailure = failureOf(error);
      logExportFailure(error, count);
    },
  });
  const toConsole = consoleExport(new ConsoleSpanExporter(), process.stdout, (count) => {
    onSpans('dropped', count);
    diag.warn('standard output is not read; spans for it are left out');
  });
  const spanProcessors = names.map((name) =>
    name === 'otlp' ? counted.processor : new SimpleSpanProcessor({ exporter: toConsole }),
  );

  // The SDK puts a logger in place that writes to the console. Ours returns as soon as it has started.
  diag.disable();
  const sdk = startNodeSdk({
    logLevel: 'warn',
    sampler: forcible(samplerOf(samplerChoice(env))),
    spanProcessors,
    metricReaders: [],
    logRecordProcessors: [],
    ...resourceOptions(serviceVersion),
    ...(limitsAttributeLength(env) ? {} : { spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_LIMIT } }),
  });
  diag.setLogger(logger, logOptions);

  async function bounded(work: () => Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    const timeout = delay(timeoutMs, `given up after ${timeoutMs} ms`, { signal: timer.signal }).catch(() => undefined);
    const done = work().then(
      () => undefined,
      (error: unknown) => `failed: ${error instanceof Error ? error.message : String(error)}`,
    );
    const problem = await Promise.race([done, timeout]);
    timer.abort();
    if (problem === undefined) return;
    // Of one that never answered there is nothing to go by: most likely there is none.
    const remedy = exportRemedy(lastFailure ?? 'ECONNREFUSED', endpointVariable(env));
    const lost = { spansUnsettled: counted.unsettled(), endpoint: maskUrls(tracesEndpoint(env)) };
    log.warn(lost, `OpenTelemetry: shutdown ${problem}, and what was not sent is lost: ${remedy}`);
  }

  /** Rejects when spans are lost over it: nobody will count them any more. */
  async function sendTheRest(): Promise<void> {
    const failedBefore = spansFailed;
    await sdk.shutdown();
    if (spansFailed > failedBefore) throw new Error(`${spansFailed - failedBefore} spans could not be sent`);
  }

  let stopping: Promise<void> | undefined;
  const telemetry: Telemetry = {
    isTracing: true,
    queueLength: () => counted.queueLength(),
    shutdown() {
      stopping ??= bounded(sendTheRest).then(unregister);
      return stopping;
    },
    [Symbol.asyncDispose]: () => telemetry.shutdown(),
  };
  return telemetry;
}

function off(): Telemetry {
  const nothing = () => Promise.resolve();
  return { isTracing: false, queueLength: () => 0, shutdown: nothing, [Symbol.asyncDispose]: nothing };
}

/** So that the API's spans are void again, and another start in this process finds it free. */
function unregister(): void {
  for (const api of [trace, propagation, context, diag]) api.disable();
}

function samplerOf({ root, parentBased, ratio }: SamplerChoice): Sampler {
  const samplers = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const sampler = samplers[root]();
  return parentBased ? new ParentBasedSampler({ root: sampler }) : sampler;
}

/** `base`, but for the spans of an evaluation whose run was not sampled: its score must not vanish from the traces. */
function forcible(base: Sampler): Sampler {
  return {
    shouldSample: (parent, ...rest) =>
      isSamplingForced(parent) ? { decision: SamplingDecision.RECORD_AND_SAMPLED } : base.shouldSample(parent, ...rest),
    toString: () => `Forcible{${base.toString()}}`,
  };
}

/**
 * OTEL_RESOURCE_ATTRIBUTES wins over a detector, and OTEL_SERVICE_NAME over both. The SDK's own detectors run for those
 * who name them in OTEL_NODE_RESOURCE_DETECTORS: by default they would send the command line.
 */
function resourceOptions(serviceVersion: string) {
  const { env } = process;
  const name = serviceName(env, 'agui-sidecar');
  const service = { 'service.version': serviceVersion, 'service.instance.id': randomUUID() };
  return {
    ...(name !== undefined && { resourceAttributes: { 'service.name': name } }),
    ...(valueOf(env, 'OTEL_NODE_RESOURCE_DETECTORS') === undefined && {
      resourceDetectors: [{ detect: () => ({ attributes: service }) }],
    }),
  };
}
