import type { Judge, JudgeCall } from '../judge/judge.ts';
import { recordCalls } from '../judge/record-calls.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Verdict } from '../metrics/metric.ts';
import type { ScoreRow } from './read-rows.ts';

/** One row's verdict with what it took to reach it. */
export interface JudgedRow {
  readonly row: ScoreRow;
  readonly verdict: Verdict;
  readonly evaluatorVersion: string;
  readonly calls: readonly JudgeCall[];
}

/** @throws when `signal` aborts; what goes wrong with the judge is a `failed` verdict. */
export async function judgeRow(row: ScoreRow, judge: Judge, signal: AbortSignal): Promise<JudgedRow> {
  signal.throwIfAborted();
  const calls: JudgeCall[] = [];
  const { metric, messages, params, reference } = row;
  const input = { messages, params, ...(reference === undefined ? {} : { reference }) };
  const verdict = await metric.score(input, recordCalls(judge, calls), signal);
  return { row, verdict, evaluatorVersion: metric.version(params, judge.model), calls };
}

/** The line that `agui-sidecar score` prints for a row. */
export function toOutputLine({ row, verdict, evaluatorVersion, calls }: JudgedRow): JsonObject {
  return {
    id: row.id,
    metric: row.metric.name,
    ...verdict,
    judge_calls: calls.length,
    usage: sumUsage(calls),
    evaluator_version: evaluatorVersion,
  };
}

/** Tokens over all calls that told; null where none did, since unknown is not zero. */
function sumUsage(calls: readonly JudgeCall[]): JsonObject {
  const sum = (counts: readonly (number | undefined)[]): number | null => {
    const known = counts.filter((count) => count !== undefined);
    return known.length === 0 ? null : known.reduce((total, count) => total + count, 0);
  };
  return {
    input_tokens: sum(calls.map(({ inputTokens }) => inputTokens)),
    output_tokens: sum(calls.map(({ outputTokens }) => outputTokens)),
  };
}
