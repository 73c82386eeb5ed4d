import { expect, it } from 'vitest';
import { exportFailureLog } from '../../src/telemetry/export-failure.ts';
import { limitedLog } from '../../src/telemetry/limited-log.ts';
import type { EndpointVariable } from '../../src/telemetry/otel-environment.ts';
import { createLog } from '../../src/telemetry/log.ts';

function logged(
  error: unknown,
  endpoint = 'http://collector:4318/v1/traces',
  variable: EndpointVariable = 'OTEL_EXPORTER_OTLP_ENDPOINT',
): readonly unknown[] {
  const lines: unknown[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  exportFailureLog(
    limitedLog(log, () => 0),
    { endpoint, variable },
  )(error, 7);
  return lines;
}

const withCode = (code: number | string, message = 'said by somebody') => Object.assign(new Error(message), { code });

it.each<[unknown, RegExp]>([
  [withCode('ECONNREFUSED'), /\(ECONNREFUSED\): start a collector, .*ENDPOINT, .*OTEL_TRACES_EXPORTER=none/],
  [
    withCode('CERT_HAS_EXPIRED'),
    /\(CERT_HAS_EXPIRED\): see the collector's own log, and that OTEL_EXPORTER_OTLP_ENDPOINT is its address/,
  ],
  [new Error('Request timed out'), /\(Request timed out\): see the collector's own log/],
  [withCode(401), /\(status 401\): correct OTEL_EXPORTER_OTLP_HEADERS/],
  [withCode(404), /\(status 404\): .*without \/v1\/traces/],
  [withCode(413), /\(status 413\): .*OTEL_BSP_MAX_EXPORT_BATCH_SIZE/],
  [withCode(500), /\(status 500\): see the collector's own log/],
  [undefined, /\(no reason given\): see the collector's own log/],
])('says of %s in one sentence why spans are lost, that metrics are not, and what to do', (error, message) => {
  expect(logged(error)).toEqual([
    {
      level: 50,
      time: expect.any(String),
      endpoint: 'http://collector:4318/v1/traces',
      spans: 7,
      msg: expect.stringMatching(message),
    },
  ]);
  expect(logged(error)).toMatchObject([
    { msg: expect.stringMatching(/^spans could not be sent .*; until then spans are lost, and metrics are not$/) },
  ]);
});

it('names the variable that is in force', () => {
  const shown = JSON.stringify(logged(withCode(404), 'http://collector:4318', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'));
  expect(shown).toContain('correct OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is taken as it stands');
});

it('shows neither a secret in the address nor what the collector said', () => {
  const shown = JSON.stringify(
    logged(withCode(400, 'bad key hunter2'), 'https://me:hunter2@collector/v1/traces?key=hunter2'),
  );
  expect(shown).toContain('status 400');
  expect(shown).not.toContain('hunter2');
});
