import { trace } from '@opentelemetry/api';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { endSpans, start } from './started.ts';
import { flushSpans } from './traced.ts';

afterEach(() => vi.unstubAllEnvs());

describe('startTelemetry', () => {
  it('exports spans as OTLP/HTTP JSON and counts them', async () => {
    await using receiver = await startOtlpReceiver();
    const { telemetry, counts } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    endSpans(3);
    expect(telemetry.queueLength()).toBe(3);
    await flushSpans();
    expect(receiver.spans.map(({ name }) => name)).toEqual(['span 0', 'span 1', 'span 2']);
    expect(counts).toEqual({ exported: 3, failed: 0, dropped: 0 });
    expect(telemetry.queueLength()).toBe(0);
    await telemetry.shutdown();
  });

  it('names the service agui-sidecar and tells nothing of the process', async () => {
    await using receiver = await startOtlpReceiver();
    const { telemetry } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    endSpans(1);
    await telemetry.shutdown();
    const resource = receiver.spans[0]?.resource ?? {};
    expect(resource).toMatchObject({ 'service.name': 'agui-sidecar', 'service.version': '1.2.3' });
    expect(Object.keys(resource).filter((name) => !/^(service|telemetry)\./.test(name))).toEqual([]);
  });

  it.each([
    [{ OTEL_SERVICE_NAME: 'from-name', OTEL_RESOURCE_ATTRIBUTES: 'service.name=from-attributes' }, 'from-name'],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,service.name=from-attributes' }, 'from-attributes'],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod' }, 'agui-sidecar'],
    [{ OTEL_NODE_RESOURCE_DETECTORS: 'none' }, 'agui-sidecar'],
  ])('takes the service name from %j', async (environment, name) => {
    await using receiver = await startOtlpReceiver();
    const { telemetry } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });
    endSpans(1);
    await telemetry.shutdown();
    expect(receiver.spans[0]?.resource['service.name']).toBe(name);
  });

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])('does nothing under %j', async (off) => {
    await using receiver = await startOtlpReceiver();
    const { telemetry, counts } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...off });
    expect(trace.getTracer('test').startSpan('void').isRecording()).toBe(false);
    endSpans(1);
    await flushSpans();
    await telemetry.shutdown();
    expect(receiver.requestCount()).toBe(0);
    expect(counts).toEqual({ exported: 0, failed: 0, dropped: 0 });
  });

  it('cuts attribute values at 8,192 characters, unless the environment sets another limit', async () => {
    await using receiver = await startOtlpReceiver();
    for (const environment of [{}, { OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '100' }]) {
      const { telemetry } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });
      trace
        .getTracer('test')
        .startSpan('long', { attributes: { text: 'x'.repeat(20_000) } })
        .end();
      await telemetry.shutdown();
    }
    expect(receiver.spans.map(({ attributes }) => String(attributes['text']).length)).toEqual([8192, 100]);
  });

  it.each([
    ['always_off', '', 0],
    ['traceidratio', '0', 0],
    ['parentbased_traceidratio', '1', 4],
    ['no_such_sampler', '', 4],
  ])('samples by OTEL_TRACES_SAMPLER=%s with argument "%s"', async (sampler, argument, expected) => {
    await using receiver = await startOtlpReceiver();
    const { telemetry } = start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: argument,
    });
    endSpans(4);
    await telemetry.shutdown();
    expect(receiver.spans).toHaveLength(expected);
  });

  it('drops spans that find the queue full, and counts them', async () => {
    await using receiver = await startOtlpReceiver();
    const { telemetry, counts } = start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_SCHEDULE_DELAY: '60000',
    });
    receiver.behave('hang');
    endSpans(10);
    await receiver.until(() => receiver.requestCount() === 1);
    endSpans(15);
    expect(counts).toEqual({ exported: 0, failed: 0, dropped: 5 });
    expect(telemetry.queueLength()).toBe(10);
    receiver.behave('reject');
    await telemetry.shutdown();
    expect(counts).toEqual({ exported: 0, failed: 20, dropped: 5 });
    expect(telemetry.queueLength()).toBe(0);
  });

  it.each([
    ['refuse', 'start a collector'],
    ['unavailable', 'start a collector'],
    ['hang', 'start a collector'],
    ['reject', `see the collector's own log`],
  ] as const)(
    'shuts down within its bound, without rejecting, when the collector does %s, and says what to do',
    async (mood, remedy) => {
      await using receiver = await startOtlpReceiver();
      const { telemetry, log } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, { timeoutMs: 300 });
      if (mood === 'refuse') await receiver.stop();
      else receiver.behave(mood);
      endSpans(1);
      await telemetry.shutdown();
      await telemetry.shutdown();
      expect(log.join('')).toMatch(
        new RegExp(`OpenTelemetry: shutdown (?:failed|given up after 300 ms).* lost: ${remedy}`),
      );
    },
  );

  it('says once, and not with every batch, that the collector is down', async () => {
    await using receiver = await startOtlpReceiver();
    await receiver.stop();
    const { telemetry, counts, log } = start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
      OTEL_LOG_LEVEL: 'error',
    });
    endSpans(4);
    await vi.waitUntil(() => counts.failed === 4, { timeout: 20_000, interval: 10 });
    const errors = log.map((line): unknown => JSON.parse(line)).filter((line) => isError(line));
    expect(errors).toEqual([
      {
        level: 50,
        time: expect.any(String),
        endpoint: `${receiver.url}/v1/traces`,
        spans: 1,
        msg: 'spans could not be sent (ECONNREFUSED): start a collector, correct OTEL_EXPORTER_OTLP_ENDPOINT, or turn spans off with OTEL_TRACES_EXPORTER=none; until then spans are lost, and metrics are not',
      },
    ]);
    await telemetry.shutdown();
  });

  it('says how many spans were lost over the end, when the collector does not take them', async () => {
    await using receiver = await startOtlpReceiver();
    receiver.behave('reject');
    const { telemetry, counts, log } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    endSpans(3);
    await telemetry.shutdown();
    expect(counts).toEqual({ exported: 0, failed: 3, dropped: 0 });
    expect(log.join('')).toMatch(/OpenTelemetry: shutdown failed: 3 spans could not be sent/);
  });

  it('says nothing at the end of spans that were lost before', async () => {
    await using receiver = await startOtlpReceiver();
    receiver.behave('reject');
    const { telemetry, counts, log } = start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '1',
    });
    endSpans(1);
    await vi.waitUntil(() => counts.failed === 1, { timeout: 20_000, interval: 2 });
    await telemetry.shutdown();
    expect(log.join('')).not.toContain('shutdown');
  });

  it('leaves the API free for another start', async () => {
    await using receiver = await startOtlpReceiver();
    for (const index of [1, 2]) {
      const { telemetry } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
      endSpans(1);
      await telemetry.shutdown();
      expect(receiver.spans).toHaveLength(index);
    }
    expect(trace.getTracer('test').startSpan('after').isRecording()).toBe(false);
  });
});

function isError(line: unknown): boolean {
  return typeof line === 'object' && line !== null && 'level' in line && line.level === 50;
}
