import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { judgeRow } from '../../src/batch/judge-row.ts';
import { readScoreRows } from '../../src/batch/read-rows.ts';
import { METRICS } from '../../src/metrics/registry.ts';
import { NEVER, scriptedJudge } from '../support/scripted-judge.ts';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';

/** What scoring one row comes to, bad input included. */
async function scoreRow(row: object, answers: readonly unknown[]) {
  const judge = scriptedJudge(answers);
  const reading = readScoreRows(JSON.stringify(row), METRICS, () => undefined);
  if (!reading.ok)
    return { kind: 'bad_input' as const, field: reading.problems[0]?.field, calls: 0, left: judge.left() };
  const [parsed] = reading.rows;
  if (parsed === undefined) throw new Error('a row was expected');
  const { verdict, calls } = await judgeRow(parsed, judge, NEVER);
  return { ...verdict, calls: calls.length, left: judge.left() };
}

const ownCase = z.object({
  name: z.string(),
  row: z.looseObject({}),
  judge: z.array(z.unknown()),
  expected: z.object({
    kind: z.enum(['scored', 'not_applicable', 'failed', 'bad_input']),
    value: z.number().optional(),
    errorType: z.string().optional(),
    field: z.string().optional(),
    judge_calls: z.int(),
  }),
});

describe('compat "ragas"', () => {
  const text = readFileSync(new URL('../fixtures/metrics/ragas.json', import.meta.url), 'utf8');
  it.each(z.array(ownCase).parse(JSON.parse(text)))('$name', async ({ row, judge, expected }) => {
    const result = await scoreRow(row, judge);
    expect(result.kind).toBe(expected.kind);
    expect({ calls: result.calls, left: result.left }).toEqual({ calls: expected.judge_calls, left: 0 });
    if (result.kind === 'scored') expect(Math.abs(result.value - (expected.value ?? NaN))).toBeLessThanOrEqual(1e-12);
    if (result.kind === 'failed') expect(result.errorType).toBe(expected.errorType);
    if (result.kind === 'bad_input') expect(result.field).toBe(expected.field);
  });
});

const sharedCase = z.object({
  name: z.string(),
  input: z.object({
    metric: z.string(),
    options: z.record(z.string(), z.unknown()).default({}),
    args: z.looseObject({ user_input: z.unknown(), reference_topics: z.unknown().optional() }),
    judge: z.array(z.unknown()).default([]),
  }),
  expected: z.object({
    value: z.union([z.number(), z.literal('NaN'), z.null()]),
    error: z.looseObject({}).nullable(),
    judge_calls: z.int(),
  }),
});

describe.skipIf(!hasSharedFixtures).each(['agent_goal_accuracy', 'topic_adherence'])('values of Ragas: %s', (file) => {
  const url = new URL(`metrics/${file}.json`, SHARED_FIXTURES);
  const cases = hasSharedFixtures ? z.array(sharedCase).parse(JSON.parse(readFileSync(url, 'utf8'))) : [];
  it.each(cases)('$name', async ({ input, expected }) => {
    const { user_input: conversation, reference_topics: topics, ...args } = input.args;
    const row = {
      metric: input.metric,
      params: { ...input.options, ...(topics === undefined ? {} : { reference_topics: topics }), compat: 'ragas' },
      [Array.isArray(conversation) ? 'messages' : 'user_input']: conversation,
      ...args,
    };
    const result = await scoreRow(row, input.judge);
    expect({ calls: result.calls, left: result.left }).toEqual({ calls: expected.judge_calls, left: 0 });
    if (expected.error !== null) expect(['failed', 'bad_input']).toContain(result.kind);
    else if (expected.value === 'NaN') expect(result.kind).toBe('not_applicable');
    else if (result.kind === 'scored') {
      expect(Math.abs(result.value - (expected.value ?? NaN))).toBeLessThanOrEqual(1e-12);
    } else expect(result).toMatchObject({ kind: 'scored' });
  });
});
