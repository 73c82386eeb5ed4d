import { trace } from '@opentelemetry/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../src/config/config.ts';
import { resolveConfig } from '../src/config/resolve.ts';
import { createEvaluation } from '../src/evaluation.ts';
import { type Judge, JudgeError } from '../src/judge/judge.ts';
import type { Metric } from '../src/metrics/metric.ts';
import { METRICS } from '../src/metrics/registry.ts';
import type { Decision, ScoringJob } from '../src/scoring/scorecard.ts';
import { createLog, type LogLevel } from '../src/telemetry/log.ts';
import { assistant, call, exchange, user } from './support/exchanges.ts';
import { virtualClock } from './support/virtual-clock.ts';

const SECOND = 1000;

type OpenAtStop = Config['shutdown']['openConversations'];

function configOf(rate: number, openAtStop: OpenAtStop): Config {
  const env = {
    AGENT_URL: 'http://127.0.0.1:9',
    AGENT_NAME: 'harbour',
    OPENAI_BASE_URL: 'http://127.0.0.1:9',
    SAMPLE_RATE: String(rate),
    CLOSING_IDLE: '10s',
    CLOSING_WAITING: '60s',
    CLOSING_OPEN_RUN: '60s',
    SHUTDOWN_OPEN_CONVERSATIONS: openAtStop,
  };
  const result = resolveConfig({ env, sets: [] }, METRICS);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

/** How the judge treats one question. */
type Mood = 'answers' | 'fails' | 'throws' | 'hangs';

function setUp(rate: number, moods: readonly Mood[], openAtStop: OpenAtStop = 'judge', level: LogLevel = 'warn') {
  const clock = virtualClock();
  const closings = { count: 0 };
  const decisions = new Map<Decision, number>();
  const causes: ScoringJob['cause'][] = [];
  const logged: string[] = [];
  const decide = (decision: Decision) => void decisions.set(decision, (decisions.get(decision) ?? 0) + 1);
  let asked = 0;
  const judge: Judge & AsyncDisposable = {
    model: 'moody',
    async ask({ schema }, { signal }) {
      const mood = moods[asked % moods.length];
      asked += 1;
      if (mood === 'fails') throw new JudgeError('unavailable', 'not now');
      if (mood === 'throws') throw new Error('a defect');
      if (mood === 'hangs')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return schema.parse('yes');
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const metric = (name: string): Metric => ({
    name,
    title: name,
    range: [0, 1],
    evaluator: 'llm',
    needs: [],
    params: z.object({ threshold: z.number() }),
    version: () => name,
    async score(_, ask, signal) {
      try {
        await ask.ask({ schemaName: 'one', schema: z.string(), messages: [] }, { signal });
        return { kind: 'scored', value: 1, label: 'pass', reason: 'yes' };
      } catch (error) {
        if (error instanceof JudgeError) return { kind: 'failed', errorType: error.type, cause: error.message };
        throw error;
      }
    },
  });
  const params = { threshold: 1 };
  const evaluation = createEvaluation(configOf(rate, openAtStop), {
    metrics: new Map([
      ['harbour', ['one', 'two'].map((name) => ({ metric: metric(name), params, evaluatorVersion: name }))],
    ]),
    judge,
    prometheus: {
      recordClosing: () => (closings.count += 1),
      recordDecision: (_, decision) => decide(decision),
      recordScorecard({ decision, job }) {
        decide(decision);
        causes.push(job.cause);
      },
    },
    tracer: trace.getTracer('test'),
    clock,
    log: createLog({ level, destination: { write: (line) => logged.push(line) } }),
  });
  const decided = () => [...decisions.values()].reduce((total, count) => total + count, 0);
  return { clock, closings, decisions, causes, logged, decided, evaluation };
}

const turns = () => new Promise((resolve) => setTimeout(resolve, 0));

describe('every closing ends in exactly one decision', () => {
  const thread = fc.constantFrom('t1', 't2', 't3');
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('run' as const),
      thread,
      runId: fc.constantFrom('r1', 'r2', 'r3', 'r4'),
      pending: fc.boolean(),
      asks: fc.boolean(),
      ending: fc.constantFrom('success', 'run_error', 'client_aborted', 'interrupt', 'truncated'),
    }),
    fc.record({ kind: fc.constant('began' as const), thread }),
    fc.record({ kind: fc.constant('ended' as const), thread }),
    fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 9, 11, 61) }),
  );

  it('whatever runs come, wherever the judge fails, and whenever it stops', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.constantFrom(0, 0.5, 1),
        fc.constantFrom<OpenAtStop>('judge', 'expire'),
        fc.array(fc.constantFrom<Mood>('answers', 'fails', 'throws', 'hangs'), { minLength: 1, maxLength: 6 }),
        async (steps, rate, openAtStop, moods) => {
          const { clock, closings, decided, evaluation } = setUp(rate, moods, openAtStop);
          const { store } = evaluation;
          for (const [at, each] of steps.entries()) {
            if (each.kind === 'wait') clock.advance(each.seconds * SECOND);
            else if (each.kind === 'began') await store.runBegan({ agent: 'harbour', threadId: each.thread });
            else if (each.kind === 'ended') await store.runEnded({ agent: 'harbour', threadId: each.thread });
            else {
              const { thread: threadId, runId, ending, pending, asks } = each;
              const input = asks ? [user(`u${at}`, `question ${at}`)] : [];
              const output = [assistant(`a${at}`, 'x', pending ? [call(`c${at}`)] : [])];
              await store.append(exchange({ input, output, overrides: { threadId, runId, ending } }));
            }
            await turns();
          }
          const closed = evaluation.close(5 * SECOND);
          await turns();
          clock.advance(5 * SECOND);
          await closed;
          expect(decided()).toBe(closings.count);
          expect(store.stats()).toMatchObject({ openThreads: 0, queued: 0, inFlight: 0 });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is scored, partly scored or failed by what the judge gave', async () => {
    for (const [moods, decision] of [
      [['answers'], 'scored'],
      [['answers', 'fails'], 'partly_scored'],
      [['fails'], 'judge_failed'],
      [['throws'], 'judge_failed'],
    ] as const) {
      const { clock, decisions, evaluation } = setUp(1, moods);
      await evaluation.store.append(exchange({ input: [user('u1', 'hi')], output: [assistant('a1', 'hello')] }));
      clock.advance(10 * SECOND);
      await turns();
      expect([...decisions]).toEqual([[decision, 1]]);
      await evaluation.close(0);
    }
  });
});

describe('a stop', () => {
  const answered = (threadId: string) =>
    exchange({ input: [user('u1', 'hi')], output: [assistant('a1', 'hello')], overrides: { threadId } });

  it('has judged what was open and at rest, as what it is', async () => {
    const { clock, decisions, causes, evaluation } = setUp(1, ['answers']);
    await evaluation.store.append(answered('t1'));
    clock.advance(10 * SECOND);
    await evaluation.store.append(answered('t2'));
    await evaluation.close(5 * SECOND);
    expect([...decisions]).toEqual([['scored', 2]]);
    expect(causes).toEqual(['idle', 'shutdown']);
  });

  it.each([
    ['its trace, where there is one', 'a'.repeat(32), 'a'.repeat(32)],
    ['no trace, where nothing was traced', '0'.repeat(32), undefined],
  ])('is told by %s', async (_, traceId, expected) => {
    const { logged, evaluation } = setUp(1, ['answers'], 'judge', 'info');
    await evaluation.store.append({ ...answered('t1'), trace: { traceId, spanId: 'b'.repeat(16), traceFlags: 1 } });
    await evaluation.close(5 * SECOND);
    const judged = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'judged a conversation');
    expect(judged.map((line) => line.traceId)).toEqual([expected]);
  });

  it('judges nothing of what a run or a person is still to add to', async () => {
    const { decisions, evaluation } = setUp(1, ['answers']);
    const { store } = evaluation;
    await store.append(answered('running'));
    await store.runBegan({ agent: 'harbour', threadId: 'running' });
    const question = { input: [user('u1', 'hi')], output: [assistant('a1', '', [call('c1')])] };
    await store.append(exchange({ ...question, overrides: { threadId: 'waiting' } }));
    await evaluation.close(5 * SECOND);
    expect([...decisions]).toEqual([['expired', 2]]);
  });

  it('judges nothing at all when it was told so', async () => {
    const { decisions, evaluation } = setUp(1, ['answers'], 'expire');
    await evaluation.store.append(answered('t1'));
    await evaluation.close(5 * SECOND);
    expect([...decisions]).toEqual([['expired', 1]]);
  });

  it('says once how many the judge did not come to', async () => {
    const { clock, decisions, logged, evaluation } = setUp(1, ['hangs']);
    for (let thread = 0; thread < 30; thread++) await evaluation.store.append(answered(`t${thread}`));
    const closed = evaluation.close(5 * SECOND);
    await turns();
    clock.advance(5 * SECOND);
    await closed;
    expect([...decisions]).toEqual([['expired', 30]]);
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([{ expired: 30 }]);
  });
});
