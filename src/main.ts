import { propagation, trace } from '@opentelemetry/api';
import { createAdminApp } from './admin/app.ts';
import { startAdminListener } from './admin/listener.ts';
import { metricsRoute } from './admin/metrics-route.ts';
import { probes } from './admin/probes.ts';
import { createReadiness } from './admin/readiness.ts';
import { EVENT_TYPES } from './agui/read-event.ts';
import type { Config } from './config/config.ts';
import { configuredMetrics, createEvaluation, openJudge } from './evaluation.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createGathering } from './lib/gathering.ts';
import { ListenError } from './lib/listen-error.ts';
import { type LoopDelay, watchLoopDelay } from './lib/loop-delay.ts';
import { packageVersion } from './lib/version.ts';
import { createObserver } from './observation.ts';
import { proxyPlace } from './proxy/listen-place.ts';
import { createProxyServer } from './proxy/server.ts';
import { shutDown, TELEMETRY_MS } from './shutdown.ts';
import { agentFailureLog } from './telemetry/agent-failure-log.ts';
import { limitedLog } from './telemetry/limited-log.ts';
import type { Log } from './telemetry/log.ts';
import { createPrometheus } from './telemetry/prometheus.ts';
import { createRunSpans } from './telemetry/run-span.ts';

const SHEDDING =
  'new exchanges are not copied, since the event loop runs late, and their threads are not judged: give the sidecar more CPU, lower tap.share (TAP_SHARE) or raise tap.max_loop_delay (TAP_MAX_LOOP_DELAY)';

/**
 * Copies that are read one right after the other cost less than one by one (docs/adr/001). So many do not have to wait for more: each
 * adds less to that, and holds memory.
 */
const MOST_READ_TOGETHER = 16;

/** Part of `tap.max_total` that may wait to be read together; the rest is for streams under way. */
const WAITING_PART = 1 / 8;

export interface Sidecar {
  /** 0 when the proxy listens on a unix socket. */
  readonly proxyPort: number;
  readonly adminPort: number;
  /** Lets open streams end and what was said be judged, as configured, then stops. Idempotent. */
  stop(): Promise<void>;
}

export interface SidecarOptions {
  readonly log: Log;
  readonly clock?: Clock;
  /** False: proxy, measure and trace, but judge nothing. Default true. */
  readonly worker?: boolean;
}

/**
 * Builds the sidecar from a configuration and starts it. Resolves when it is ready for traffic.
 *
 * @throws {ListenError} when a port, address or socket cannot be had; nothing listens then.
 */
export async function startSidecar(config: Config, options: SidecarOptions): Promise<Sidecar> {
  const { log, clock = systemClock, worker = true } = options;
  const version = packageVersion();
  const readiness = createReadiness();
  let spansQueued = () => 0;
  let isTracing = false;
  let loopDelay: LoopDelay | undefined;

  // Void until the SDK has registered itself below; the client's own trace headers pass until then.
  const tracer = trace.getTracerProvider().getTracer('agui-sidecar', version);
  const judge = worker ? await openJudge(config.judge, clock) : undefined;
  const metrics = configuredMetrics(config, judge);
  const prometheus = createPrometheus({
    agents: config.agents.map(({ name, tools }) => ({
      name,
      tools,
      metrics: (metrics.get(name) ?? []).map(({ metric, evaluatorVersion }) => ({
        name: metric.name,
        evaluatorVersion,
        judgeModel: metric.evaluator === 'llm' ? (judge?.model ?? '') : '',
      })),
    })),
    eventTypes: EVENT_TYPES,
    queue: () => evaluation.store.stats(),
    spanQueueLength: () => spansQueued(),
    logLinesLost: () => log.linesLost(),
    build: { version, revision: process.env['REVISION'] || 'unknown' },
    onRefused: (series, value) => log.error({ series, value }, 'a value that no series can take was refused'),
  });
  const evaluation = createEvaluation(config, {
    metrics,
    ...(judge && { judge }),
    prometheus,
    tracer,
    clock,
    log,
  });

  const observer = createObserver({
    runSpans: createRunSpans({ tracer, propagation, isTracing: () => isTracing, ...runSpanOptions(config) }),
    prometheus,
    store: evaluation.store,
    bounds: { maxEventBytes: config.tap.maxEventBytes, maxDecodedBytes: config.tap.maxExchangeBytes },
    share: config.tap.share,
    gathering: createGathering({
      delayMs: config.tap.readDelayMs,
      most: MOST_READ_TOGETHER,
      mostWeight: config.tap.maxTotalBytes * WAITING_PART,
      clock,
    }),
    log,
  });
  const limited = limitedLog(log, () => clock.now());
  const proxy = createProxyServer({
    agents: config.agents,
    observe: observer.observe,
    tap: config.tap.share > 0 ? config.tap : undefined,
    isOverloaded: () => loopDelay?.isHigh() ?? false,
    maxConnections: config.listen.maxConnections,
    ...config.proxy,
    ...config.conversation,
    now: () => clock.now(),
    onTapDropped: (bytes) => prometheus.recordTeeDrop(bytes),
    onTapShed() {
      prometheus.recordTeeShed();
      limited('warn', 'shed', SHEDDING);
    },
    onRefused: (refusal) => prometheus.recordRefusal(refusal),
    onAgentFailed: agentFailureLog(limited),
    onFault: (error) => log.error({ error }, 'an observer failed; the stream went on'),
  });
  const admin = await startAdminListener(
    createAdminApp([metricsRoute(prometheus), probes(readiness)], (error) => log.error({ error }, 'admin failed')),
    config.admin,
  );
  const { socket, port, host } = config.listen;
  const bound = await proxy.listen(socket ? { path: socket } : { port, host }).catch(async (cause: unknown) => {
    await admin.stop();
    throw new ListenError('proxy', proxyPlace(config.listen), cause);
  });

  // Loading the SDK takes a second of this thread. The listeners stand already, so what comes in waits and is not refused;
  // readiness says when it no longer does.
  const { startTelemetry } = await import('./telemetry/sdk.ts');
  const telemetry = startTelemetry({
    serviceVersion: version,
    log,
    onSpans: (outcome, count) => prometheus.recordSpans(outcome, count),
    timeoutMs: TELEMETRY_MS,
  });
  isTracing = telemetry.isTracing;
  spansQueued = () => telemetry.queueLength();
  if (config.tap.maxLoopDelayMs > 0) loopDelay = watchLoopDelay(config.tap.maxLoopDelayMs);
  readiness.become('ready');

  let stopping: Promise<void> | undefined;
  const stop = () => {
    const parts = { readiness, proxy, observer, evaluation, telemetry, admin, clock, log };
    stopping ??= shutDown(parts, config.shutdown).finally(() => loopDelay?.[Symbol.dispose]());
    return stopping;
  };
  return { proxyPort: portOf(bound), adminPort: admin.port, stop };
}

function runSpanOptions({ telemetry }: Config) {
  const { providerName, trustIncomingTrace, toolSpans } = telemetry;
  // `auto` is `on` as long as nothing tells whether the agent traces its tools itself.
  return { providerName, trustIncomingTrace, toolSpans: toolSpans !== 'off' };
}

function portOf(address: { readonly port: number } | string): number {
  return typeof address === 'string' ? 0 : address.port;
}
