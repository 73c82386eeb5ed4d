import { trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/metrics/metric.ts';
import type { RunReference, Scorecard } from '../../src/scoring/scorecard.ts';
import { recordScorecard, type ScoreSpanOptions } from '../../src/telemetry/score-span.ts';
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
import { spanNamed, startTraced, type Traced } from './traced.ts';

function record(scorecard: Scorecard, options: Partial<ScoreSpanOptions> = {}): ReadonlyMap<string, string> {
  return recordScorecard(scorecard, {
    tracer: trace.getTracer('test'),
    parentMaxAgeMs: 30 * 60_000,
    whenUnsampled: 'link',
    explanations: true,
    ...options,
  });
}

function withVerdict(verdict: Verdict): Scorecard {
  return sampleScorecard({ results: [sampleResult({ verdict })] });
}

function withRuns(...runs: RunReference[]): Scorecard {
  return sampleScorecard({ job: sampleJob({ runs }) });
}

function runOf(index: number, changes: Partial<RunReference> = {}): RunReference {
  const spanId = index.toString(16).padStart(16, '0');
  return { runId: `run-${index}`, endedAt: NOW, trace: sampleLink({ spanId }), ...changes };
}

async function evaluation(scorecard: Scorecard, options: Partial<ScoreSpanOptions> = {}) {
  await using traced = await startTraced();
  record(scorecard, options);
  return spanNamed(await traced.exported(), 'evaluation');
}

async function endedRun(traced: Traced, headers: Record<string, string> = {}): Promise<RunReference> {
  const run = traced.runSpans().start(sampleRequest({ headers }));
  run.end(sampleEnd(), sampleExchange());
  await traced.exported();
  return { runId: 'run-1', endedAt: NOW, trace: run.trace };
}

describe('the span of a score', () => {
  it('is a late child of the run that has ended, in the same trace', async () => {
    await using traced = await startTraced();
    const run = await endedRun(traced, { tracestate: 'vendor=value' });
    const traceIds = record(withRuns(run));
    const spans = await traced.exported();
    const agent = spanNamed(spans, 'invoke_agent');
    expect(spanNamed(spans, 'evaluation')).toMatchObject({
      name: 'evaluation agent_goal_accuracy',
      kind: 'internal',
      traceId: agent.traceId,
      parentSpanId: agent.spanId,
      startedAt: NOW + 60_000,
      endedAt: NOW + 61_000,
    });
    expect([...traceIds]).toEqual([['agent_goal_accuracy', agent.traceId]]);
  });

  it('keeps the tracestate of the run', async () => {
    const link = sampleLink({ traceState: 'vendor=value' });
    expect(await evaluation(withRuns(runOf(1, { trace: link })))).toMatchObject({ traceState: 'vendor=value' });
  });

  it('carries the score, what was scored and what made it', async () => {
    const span = await evaluation(sampleScorecard());
    expect(span.status.code).toBe('unset');
    expect(span.attributes).toEqual({
      'gen_ai.operation.name': 'evaluation',
      'gen_ai.agent.name': 'harbour',
      'gen_ai.conversation.id': 'thread-1',
      'gen_ai.response.id': 'run-1',
      'gen_ai.evaluation.name': 'agent_goal_accuracy',
      'gen_ai.evaluation.score.value': 0.75,
      'gen_ai.evaluation.score.label': 'fail',
      'gen_ai.evaluation.explanation': 'It gave no date.',
      'session.id': 'thread-1',
      'ag_ui.run.id': 'run-1',
      'ag_ui.evaluation.verdict': 'scored',
      'ag_ui.evaluation.evaluator.type': 'llm',
      'ag_ui.evaluation.evaluator.version': 'v-123',
      'ag_ui.evaluation.threshold': 0.8,
      'ag_ui.evaluation.sampling.rate': 0.25,
      'ag_ui.evaluation.sampling.weight': 4,
      'ag_ui.evaluation.sampling.stratum': 'default',
      'ag_ui.evaluation.turns': 2,
      'ag_ui.evaluation.runs': 1,
      'ag_ui.evaluation.revision': 1,
      'ag_ui.evaluation.closing.cause': 'idle',
    });
  });

  it('has the gen_ai.evaluation.result event with the score', async () => {
    const span = await evaluation(sampleScorecard());
    expect(span.events).toEqual([
      {
        name: 'gen_ai.evaluation.result',
        at: NOW + 61_000,
        attributes: {
          'gen_ai.evaluation.name': 'agent_goal_accuracy',
          'gen_ai.evaluation.score.value': 0.75,
          'gen_ai.evaluation.score.label': 'fail',
          'gen_ai.evaluation.explanation': 'It gave no date.',
          'gen_ai.response.id': 'run-1',
        },
      },
    ]);
  });

  it('says why a metric does not apply, with neither value nor label', async () => {
    const span = await evaluation(withVerdict({ kind: 'not_applicable', why: 'Nothing was asked for.' }));
    expect(span.status.code).toBe('unset');
    expect(span.attributes).toMatchObject({
      'gen_ai.evaluation.explanation': 'Nothing was asked for.',
      'ag_ui.evaluation.verdict': 'not_applicable',
    });
    for (const { attributes } of [span, ...span.events]) {
      expect(Object.keys(attributes).filter((name) => name.includes('score'))).toEqual([]);
    }
  });

  it('says what failed, with no score', async () => {
    const span = await evaluation(withVerdict({ kind: 'failed', errorType: 'rate_limited', cause: 'status 429' }));
    expect(span.status).toEqual({ code: 'error', message: 'status 429' });
    expect(span.attributes).toMatchObject({ 'error.type': 'rate_limited', 'ag_ui.evaluation.verdict': 'failed' });
    for (const { attributes } of [span, ...span.events]) {
      expect(attributes['error.type']).toBe('rate_limited');
      expect(Object.keys(attributes).filter((name) => name.includes('score'))).toEqual([]);
    }
  });

  it('has no score when the value is no number', async () => {
    const span = await evaluation(withVerdict({ kind: 'scored', value: Number.NaN, label: 'pass', reason: 'r' }));
    expect(span.attributes['error.type']).toBe('_OTHER');
    expect(span.attributes).not.toHaveProperty('gen_ai.evaluation.score.value');
  });

  it.each<[string, Verdict]>([
    ['is scored', { kind: 'scored', value: 1, label: 'pass', reason: 'SAID' }],
    ['does not apply', { kind: 'not_applicable', why: 'SAID' }],
    ['failed', { kind: 'failed', errorType: 'malformed', cause: 'SAID' }],
  ])('explains nothing anywhere, when told not to, for a verdict that %s', async (_, verdict) => {
    const explained = await evaluation(withVerdict(verdict));
    expect(JSON.stringify(explained)).toContain('SAID');
    const silent = await evaluation(withVerdict(verdict), { explanations: false });
    expect(JSON.stringify(silent)).not.toContain('SAID');
    expect(silent.status.code).toBe(explained.status.code);
    const { 'gen_ai.evaluation.explanation': _explanation, ...rest } = explained.attributes;
    expect(silent.attributes).toEqual(rest);
  });

  it('names a judge call on one line', async () => {
    await using traced = await startTraced();
    record(sampleScorecard({ results: [sampleResult({ calls: [sampleCall({ model: `a\nb${'x'.repeat(500)}` })] })] }));
    expect(spanNamed(await traced.exported(), 'chat').name).toMatch(/^chat a bx+…$/);
  });

  it('cuts a long explanation between characters', async () => {
    const reason = '🌊'.repeat(5_000);
    const span = await evaluation(withVerdict({ kind: 'scored', value: 1, label: 'pass', reason }));
    const explanation = String(span.attributes['gen_ai.evaluation.explanation']);
    expect(explanation).toMatch(/^(🌊)+…$/u);
    expect(explanation.length).toBeLessThanOrEqual(2048);
  });

  it('stands above one chat span for each request to the judge', async () => {
    await using traced = await startTraced();
    const calls = [sampleCall(), { ...sampleCall({ outcome: 'timeout' }), schemaName: 'outcome_comparison' }];
    record(sampleScorecard({ results: [sampleResult({ calls })] }), {
      judgeEndpoint: { host: 'judge.example', port: 443 },
    });
    const spans = await traced.exported();
    const [first, second] = spans.filter(({ name }) => name === 'chat judge-model');
    expect(first).toMatchObject({
      kind: 'client',
      parentSpanId: spanNamed(spans, 'evaluation').spanId,
      startedAt: NOW + 60_100,
      endedAt: NOW + 60_900,
      status: { code: 'unset' },
    });
    expect(first?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'judge-model',
      'gen_ai.response.model': 'judge-model-2026-01-01',
      'gen_ai.response.id': 'response-1',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
      'ag_ui.judge.schema': 'user_goal_outcome',
      'server.address': 'judge.example',
      'server.port': 443,
    });
    expect(second).toMatchObject({ status: { code: 'error' }, attributes: { 'error.type': 'timeout' } });
  });
});

describe('the spans of a conversation of several runs', () => {
  it('hang on the last run and link to the others', async () => {
    const span = await evaluation(withRuns(runOf(1), runOf(2), runOf(3)));
    expect(span.parentSpanId).toBe(runOf(3).trace.spanId);
    expect(span.links.map(({ attributes }) => attributes['ag_ui.run.id'])).toEqual(['run-1', 'run-2']);
    expect(span.links.map(({ spanId }) => spanId)).toEqual([runOf(1).trace.spanId, runOf(2).trace.spanId]);
  });

  it('link to the latest 128 and tell how many runs there were', async () => {
    const runs = Array.from({ length: 140 }, (_, index) => runOf(index + 1));
    const span = await evaluation(withRuns(...runs));
    expect(span.links).toHaveLength(128);
    expect(span.links[0]?.attributes['ag_ui.run.id']).toBe('run-12');
    expect(span.attributes['ag_ui.evaluation.runs']).toBe(140);
  });
});

describe('a run whose trace cannot take the score', () => {
  const unsampled = runOf(1, { trace: sampleLink({ traceFlags: 0 }) });
  const old = runOf(1, { endedAt: NOW + 60_000 - 30 * 60_000 - 1 });

  it.each([
    ['was not sampled', unsampled],
    ['ended over 30 minutes before', old],
  ])('because it %s is linked to from a trace of its own', async (_why, run) => {
    await using traced = await startTraced();
    const traceIds = record(withRuns(run));
    const spans = await traced.exported();
    const span = spanNamed(spans, 'evaluation');
    expect(span.parentSpanId).toBe('');
    expect(span.traceId).not.toBe(run.trace.traceId);
    expect(span.links).toMatchObject([{ traceId: run.trace.traceId, spanId: run.trace.spanId }]);
    expect(spanNamed(spans, 'chat')).toMatchObject({ traceId: span.traceId, parentSpanId: span.spanId });
    expect(traceIds.get('agent_goal_accuracy')).toBe(span.traceId);
  });

  it('is its parent up to the configured age', async () => {
    const span = await evaluation(withRuns(old), { parentMaxAgeMs: 31 * 60_000 });
    expect(span.parentSpanId).toBe(old.trace.spanId);
  });

  it('is evaluated in traces even when the sampler samples nothing', async () => {
    await using traced = await startTraced({ OTEL_TRACES_SAMPLER: 'always_off' });
    record(withRuns(unsampled));
    expect((await traced.exported()).map(({ name }) => name)).toEqual([
      'chat judge-model',
      'evaluation agent_goal_accuracy',
    ]);
  });

  it('was never traced: the score has a trace of its own and no link', async () => {
    const nowhere = sampleLink({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 });
    const span = await evaluation(withRuns(runOf(1, { trace: nowhere })));
    expect(span).toMatchObject({ parentSpanId: '', links: [] });
  });

  it('leaves no spans when they are to be dropped', async () => {
    await using traced = await startTraced();
    expect(record(withRuns(unsampled), { whenUnsampled: 'drop' }).size).toBe(0);
    expect(await traced.exported()).toEqual([]);
  });
});

it('records nothing and gives no exemplars while tracing is off', () => {
  expect(record(sampleScorecard()).size).toBe(0);
});
