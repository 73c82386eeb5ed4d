import { propagation, ProxyTracerProvider, trace } from '@opentelemetry/api';
import { vi } from 'vitest';
import { createLog } from '../../src/telemetry/log.ts';
import { createRunSpans, type RunSpanFactory, type RunSpanOptions } from '../../src/telemetry/run-span.ts';
import { startTelemetry } from '../../src/telemetry/sdk.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';

export interface Traced extends AsyncDisposable {
  readonly receiver: OtlpReceiver;
  runSpans(options?: Partial<RunSpanOptions>): RunSpanFactory;
  /** All spans exported so far. */
  exported(): Promise<readonly ReceivedSpan[]>;
}

/** The SDK as it runs in the sidecar, exporting to a receiver of its own. */
export async function startTraced(environment: Readonly<Record<string, string>> = {}): Promise<Traced> {
  const receiver = await startOtlpReceiver();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const log = createLog({ level: 'silent' });
  const telemetry = startTelemetry({ serviceVersion: '1.2.3', log, onSpans: () => {} });
  return {
    receiver,
    runSpans: (options) =>
      createRunSpans({
        tracer: trace.getTracer('test'),
        propagation,
        providerName: 'ag-ui',
        trustIncomingTrace: true,
        toolSpans: true,
        isTracing: () => telemetry.isTracing,
        ...options,
      }),
    async exported() {
      await flushSpans();
      return receiver.spans;
    },
    async [Symbol.asyncDispose]() {
      await telemetry.shutdown();
      await receiver.stop();
      vi.unstubAllEnvs();
    },
  };
}

/** Has the registered provider send what waits. The sidecar itself never needs to: it sends at its end. */
export async function flushSpans(): Promise<void> {
  const provider = trace.getTracerProvider();
  const delegate = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if ('forceFlush' in delegate && typeof delegate.forceFlush === 'function') await delegate.forceFlush();
}

/** The one span whose name begins with `start`. */
export function spanNamed(spans: readonly ReceivedSpan[], start: string): ReceivedSpan {
  const found = spans.filter(({ name }) => name.startsWith(start));
  const [span] = found;
  if (span === undefined || found.length > 1) {
    throw new Error(`expected one span "${start}…", got ${JSON.stringify(spans.map(({ name }) => name))}`);
  }
  return span;
}
