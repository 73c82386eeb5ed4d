import { describe, expect, it } from 'vitest';
import type { ObservedToolCall } from '../../src/agui/exchange.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createPrometheus } from '../../src/telemetry/prometheus.ts';
import { recordScorecard } from '../../src/telemetry/score-span.ts';
import { trace } from '@opentelemetry/api';
import {
  NOW,
  sampleCall,
  sampleEnd,
  sampleExchange,
  sampleJob,
  sampleLink,
  sampleRequest,
  sampleResult,
  sampleScorecard,
} from './samples.ts';
import { startTraced } from './traced.ts';

/** What an agent or a client may put where a name or an id belongs. */
const HOSTILE: readonly (readonly [what: string, text: string])[] = [
  ['a line of its own', 'id\nlevel=error\r\n{"level":60,"msg":"forged"}'],
  ['the end of a label', 'id"} 1\nagui_eval_scores_total{agent="forged"} 9 #'],
  ['quotes and backslashes', `"'\`\\"\\\\n{}`],
  ['a NUL', 'id\0id'],
  ['a sequence that steers a terminal', '\u001B[2J\u001B]0;title\u0007id\u009B31m\u007F'],
  ['line ends of Unicode', 'id\u2028forged\u2029\u0085\v\f'],
  ['text that runs backwards', 'id\u202Egnp.exe\u2066\u2069'],
  ['halves of characters', 'id\uD800 \uDC00\uD83D'],
  ['a megabyte', 'x'.repeat(1024 * 1024)],
  ['a megabyte of line ends', '\r\n'.repeat(512 * 1024)],
  ['characters cut in half by any limit', '😀'.repeat(5_000)],
  ['a name of JavaScript`s own', '__proto__'],
];

const LINE_ENDS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
/** Characters that do something to who reads them. */
// oxlint-disable-next-line no-control-regex
const ACTIVE = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]|\p{Bidi_Control}/u;

describe.each(HOSTILE)('%s', (_, text) => {
  describe('in the log', () => {
    const places: readonly (readonly [where: string, write: (log: ReturnType<typeof createLog>) => void])[] = [
      ['a member', (log) => log.warn({ agent: text, why: text }, 'message')],
      ['a member of a member', (log) => log.warn({ judge: { model: text, list: [text] } }, 'message')],
      ['an error', (log) => log.error({ error: new Error(text, { cause: new Error(text) }) }, 'message')],
      [
        'a member of an error',
        (log) => log.error({ err: Object.assign(new Error('failed'), { id: text }) }, 'message'),
      ],
      ['what was thrown', (log) => log.error({ error: text }, 'message')],
    ];

    it.each(places)('stays within its line as %s', (__, write) => {
      const written: string[] = [];
      write(createLog({ level: 'info', destination: { write: (line) => void written.push(line) } }));

      expect(written).toHaveLength(1);
      const [line = '', ...rest] = written[0]!.split(LINE_ENDS);
      expect(rest).toEqual(['']);
      expect(line).not.toMatch(ACTIVE);
      expect(line.length).toBeLessThan(80_000);
      expect(JSON.parse(line)).toMatchObject({ msg: 'message' });
    });
  });

  it('makes no series and spoils none', async () => {
    const metric = { name: 'agent_goal_accuracy', evaluatorVersion: 'v', judgeModel: 'judge-model' };
    const prometheus = createPrometheus({
      agents: [{ name: 'harbour', metrics: [metric], tools: ['tide_table'] }],
      eventTypes: ['RUN_STARTED'],
      queue: () => ({ queued: 0, capacity: 1, inFlight: 0 }),
      spanQueueLength: () => 0,
      logLinesLost: () => 0,
      build: { version: '1', revision: 'r' },
      onRefused: () => {},
    });
    const before = seriesOf((await prometheus.exposition('')).body);

    const toolCalls: ObservedToolCall[] = [{ id: text, name: text, state: 'complete' }];
    const exchange = sampleExchange({ threadId: text, runId: text, toolCalls, eventCounts: { [text]: 1 } });
    const request = sampleRequest({
      method: text,
      path: text,
      tenant: text,
      headers: { host: text, 'user-agent': text },
    });
    prometheus.requestStarted(request);
    prometheus.requestEnded(request, sampleEnd(), exchange);
    prometheus.recordExchange(exchange);
    const result = sampleResult({ calls: [sampleCall({ model: text, responseModel: text, responseId: text })] });
    prometheus.recordScorecard(sampleScorecard({ job: sampleJob({ threadId: text }), results: [result] }));

    for (const accept of ['', 'application/openmetrics-text']) {
      const { body } = await prometheus.exposition(accept);
      for (const line of body.split('\n')) expect(line).toMatch(EXPOSITION_LINE);
      expect(body).not.toContain('forged');
    }
    expect(seriesOf((await prometheus.exposition('')).body)).toEqual(before);
  });

  it('as a tool that is configured is a label like any other', async () => {
    const prometheus = createPrometheus({
      agents: [{ name: 'harbour', metrics: [], tools: [text] }],
      eventTypes: [],
      queue: () => ({ queued: 0, capacity: 1, inFlight: 0 }),
      spanQueueLength: () => 0,
      logLinesLost: () => 0,
      build: { version: '1', revision: 'r' },
      onRefused: () => {},
    });
    for (const accept of ['', 'application/openmetrics-text']) {
      const { body } = await prometheus.exposition(accept);
      for (const line of body.split('\n')) expect(line.length > 100_000 || EXPOSITION_LINE.test(line)).toBe(true);
    }
  });

  it('is short and inert in spans, and makes none', async () => {
    await using traced = await startTraced();
    const toolCalls: ObservedToolCall[] = [
      { id: text, name: text, state: 'complete', startedAt: NOW + 1, endedAt: NOW + 2 },
    ];
    const error = { message: text, code: text };
    const run = { threadId: text, runId: text, parentRunId: text, ending: 'run_error', error, usage: null } as const;
    const exchange = sampleExchange({ threadId: text, runId: text, runs: [run], ending: 'run_error', toolCalls });
    traced.runSpans().start(sampleRequest()).end(sampleEnd(), exchange);
    const reference = { runId: text, endedAt: NOW, trace: sampleLink() };
    const job = sampleJob({ threadId: text, runs: [reference, reference] });
    const call = sampleCall({ model: text, responseModel: text, responseId: text });
    recordScorecard(sampleScorecard({ job, results: [sampleResult({ calls: [call] })] }), {
      tracer: trace.getTracer('test'),
      parentMaxAgeMs: 1_000_000,
      whenUnsampled: 'link',
      explanations: true,
    });

    const spans = await traced.exported();

    expect(spans.map(({ name }) => name.split(' ')[0]).toSorted()).toEqual([
      'POST',
      'chat',
      'evaluation',
      'execute_tool',
      'invoke_agent',
    ]);
    const said = spans.flatMap(({ name, status, attributes, links, events }) => [
      name,
      status.message,
      ...[attributes, ...links.map((link) => link.attributes), ...events.map((event) => event.attributes)].flatMap(
        (each) => Object.values(each).flat(),
      ),
    ]);
    for (const value of said) {
      if (typeof value !== 'string') continue;
      expect(value.length).toBeLessThanOrEqual(256);
      expect(value).not.toMatch(ACTIVE);
      expect(value.isWellFormed()).toBe(true);
    }
  });

  it('in trace headers of a client does not go on in ours', async () => {
    await using traced = await startTraced();
    const headers = {
      host: 'c',
      traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01${text}`,
      tracestate: `a=${text}`,
    };
    const { traceHeaders } = traced.runSpans().start(sampleRequest({ headers }));

    expect(traceHeaders?.['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
    expect(traceHeaders?.['traceparent']).not.toContain('0af7651916cd43dd8448eb211c80319c');
    expect(traceHeaders?.['tracestate'] ?? '').toBe('');
  });
});

it('the state of a client`s trace goes on within its bounds', async () => {
  await using traced = await startTraced();
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const stateSent = (tracestate: string) =>
    traced.runSpans().start(sampleRequest({ headers: { host: 'c', traceparent, tracestate } })).traceHeaders?.[
      'tracestate'
    ] ?? '';

  expect(stateSent('vendor=state,other=1')).toBe('vendor=state,other=1');
  expect(stateSent(`vendor=${'x'.repeat(10_000)}`).length).toBeLessThanOrEqual(512);
  expect(
    stateSent(Array.from({ length: 500 }, (_, index) => `v${index}=x`).join(',')).split(',').length,
  ).toBeLessThanOrEqual(32);
});

const LABEL = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = String.raw`[a-zA-Z_:][\w:]*(?:\{${LABEL}(?:,${LABEL})*\})? (?:[-+]?[\d.]+(?:e[-+]?\d+)?|[Nn]a[Nn]|[-+]Inf)`;
const EXEMPLAR = String.raw`(?: # \{${LABEL}\} [-\d.e+]+ [\d.]+)?`;
/** A line of either format. */
const EXPOSITION_LINE = new RegExp(`^(?:|# (?:HELP|TYPE|UNIT|EOF).*|${SAMPLE}${EXEMPLAR})$`);

/** Names and labels without values. */
function seriesOf(body: string): string[] {
  return body
    .split('\n')
    .filter((line) => line.startsWith('agui_'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));
}
