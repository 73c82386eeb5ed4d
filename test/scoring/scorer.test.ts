import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Judge } from '../../src/judge/judge.ts';
import type { Metric, Verdict } from '../../src/metrics/metric.ts';
import type { ScoringJob } from '../../src/scoring/scorecard.ts';
import { type ScorerOptions, scoreJob } from '../../src/scoring/scorer.ts';
import { user } from '../support/exchanges.ts';
import { virtualClock } from '../support/virtual-clock.ts';

const job: ScoringJob = {
  id: 'job-1',
  agent: 'harbour',
  threadId: 't',
  revision: 1,
  messages: [user('u1', 'hi')],
  ending: 'success',
  runs: [],
  probability: 0.5,
  stratum: 'default',
  cause: 'idle',
  closedAt: 0,
};

const judge: Judge = {
  model: 'test-model',
  async ask({ schemaName, schema }, { onCall }) {
    onCall?.({ schemaName, outcome: 'success', model: 'test-model', startedAt: 1, endedAt: 2 });
    return schema.parse('answer');
  },
};

function metric(name: string, score: Metric['score']): Metric {
  return {
    name,
    title: name,
    range: [0, 1],
    evaluator: 'llm',
    needs: [],
    params: z.object({ threshold: z.number() }),
    version: (_, model) => `${name}@${model}`,
    score,
  };
}

const scored: Verdict = { kind: 'scored', value: 1, label: 'pass', reason: 'done' };
const notApplicable: Verdict = { kind: 'not_applicable', why: 'small talk' };
const failed: Verdict = { kind: 'failed', errorType: 'refused', cause: 'no' };

function setUp(metrics: readonly Metric[]) {
  const clock = virtualClock();
  const defects: unknown[] = [];
  const options: ScorerOptions = {
    judge,
    metricsOf: () =>
      metrics.map((each) => ({ metric: each, params: { threshold: 1 }, evaluatorVersion: `${each.name}@v1` })),
    jobTimeoutMs: 5000,
    clock,
    onDefect: (name, error) => defects.push([name, error]),
  };
  return { clock, defects, options };
}

const always = (verdict: Verdict) => metric(verdict.kind, async () => verdict);

describe('the decision', () => {
  it.each([
    ['scored', [scored, scored]],
    ['scored', [scored, notApplicable]],
    ['partly_scored', [scored, failed]],
    ['judge_failed', [failed, failed]],
    ['judge_failed', [failed, notApplicable]],
    ['empty', [notApplicable, notApplicable]],
  ] as const)('is %s for %j', async (decision, verdicts) => {
    const { options } = setUp(verdicts.map(always));
    const scorecard = await scoreJob(job, new AbortController().signal, options);
    expect(scorecard.decision).toBe(decision);
    expect(scorecard.results.map(({ verdict }) => verdict)).toEqual(verdicts);
  });
});

it('records the judge calls of each metric with the evaluator version', async () => {
  const asks = metric('asks', async (_, ask, signal) => {
    await ask.ask({ schemaName: 'one', schema: z.string(), messages: [] }, { signal });
    return scored;
  });
  const { options } = setUp([asks, always(scored)]);
  const { results } = await scoreJob(job, new AbortController().signal, options);
  expect(results.map(({ calls }) => calls.map(({ schemaName }) => schemaName))).toEqual([['one'], []]);
  expect(results[0]).toMatchObject({ metric: 'asks', evaluatorVersion: 'asks@v1', threshold: 1 });
});

it('fails a metric that throws, reports the defect and keeps the others', async () => {
  const defect = new Error('broken assumption');
  const broken = metric('broken', () => Promise.reject(defect));
  const { defects, options } = setUp([broken, always(scored)]);
  const scorecard = await scoreJob(job, new AbortController().signal, options);
  expect(scorecard.decision).toBe('partly_scored');
  expect(scorecard.results[0]?.verdict).toMatchObject({ kind: 'failed', errorType: 'unavailable' });
  expect(defects).toEqual([['broken', defect]]);
});

const hanging = metric(
  'hanging',
  (_, __, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
);

it('fails what has not come to a verdict by the deadline of the job as a timeout', async () => {
  const { clock, defects, options } = setUp([hanging, always(scored)]);
  const scoring = scoreJob(job, new AbortController().signal, options);
  clock.advance(5000);
  const { results } = await scoring;
  expect(results[0]?.verdict).toMatchObject({ kind: 'failed', errorType: 'timeout' });
  expect(defects).toEqual([]);
});

it('gives no verdict at all when it is stopped', async () => {
  const { options } = setUp([hanging, always(scored)]);
  const stop = new AbortController();
  const scoring = scoreJob(job, stop.signal, options);
  stop.abort(new Error('stopping'));
  await expect(scoring).rejects.toThrow('stopping');
});
