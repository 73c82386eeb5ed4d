import { trace } from '@opentelemetry/api';
import { vi } from 'vitest';
import { createLog } from '../../src/telemetry/log.ts';
import { startTelemetry, type Telemetry, type TelemetryOptions } from '../../src/telemetry/sdk.ts';

type Counts = Record<'exported' | 'failed' | 'dropped', number>;

export interface Started {
  readonly telemetry: Telemetry;
  readonly counts: Counts;
  readonly log: readonly string[];
}

/** The SDK under `environment`, which the test takes back, with what it counts and logs. */
export function start(environment: Record<string, string>, options: Partial<TelemetryOptions> = {}): Started {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const counts: Counts = { exported: 0, failed: 0, dropped: 0 };
  const log: string[] = [];
  const telemetry = startTelemetry({
    serviceVersion: '1.2.3',
    log: createLog({ level: 'debug', destination: { write: (line) => void log.push(line) } }),
    onSpans: (outcome, count) => {
      counts[outcome] += count;
    },
    ...options,
  });
  return { telemetry, counts, log };
}

/** Ends spans in the moment. */
export function endSpans(count: number): void {
  const tracer = trace.getTracer('test');
  for (let index = 0; index < count; index++) tracer.startSpan(`span ${index}`).end();
}
