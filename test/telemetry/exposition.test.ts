import { describe, expect, it } from 'vitest';
import { asksForOpenMetrics, toTextFormat } from '../../src/telemetry/exposition.ts';

describe('asksForOpenMetrics', () => {
  it.each([
    ['application/openmetrics-text', true],
    ['application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', true],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,' +
        'application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2',
      true,
    ],
    ['Application/OpenMetrics-Text; version=0.0.1', true],
    ['text/plain;version=0.0.4', false],
    ['text/plain, application/openmetrics-text;q=0.5', false],
    ['application/openmetrics-text;q=0', false],
    ['application/openmetrics-text;q=nonsense', false],
    ['*/*', false],
    ['', false],
  ])('of %j is %s', (accept, expected) => {
    expect(asksForOpenMetrics(accept)).toBe(expected);
  });
});

describe('toTextFormat', () => {
  it('declares counters by the name of their samples, and drops exemplars and the end mark', () => {
    const openMetrics = [
      '# HELP requests All of them. Not requests # {a="b"} 1 2',
      '# TYPE requests counter',
      'requests_total{path="/ # {x=1} y"} 3',
      '# HELP latency_seconds Time.',
      '# TYPE latency_seconds histogram',
      'latency_seconds_bucket{le="1"} 2 # {trace_id="abc"} 0.5 1700000000.5',
      'latency_seconds_count 2',
      '# EOF',
      '',
    ].join('\n');
    expect(toTextFormat(openMetrics)).toBe(
      [
        '# HELP requests_total All of them. Not requests # {a="b"} 1 2',
        '# TYPE requests_total counter',
        'requests_total{path="/ # {x=1} y"} 3',
        '# HELP latency_seconds Time.',
        '# TYPE latency_seconds histogram',
        'latency_seconds_bucket{le="1"} 2',
        'latency_seconds_count 2',
        '',
      ].join('\n'),
    );
  });
});
