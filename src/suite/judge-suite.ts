import { judgeRow } from '../batch/judge-row.ts';
import type { ScoreRow } from '../batch/read-rows.ts';
import type { Judge } from '../judge/judge.ts';
import { mapInOrder } from '../lib/map-in-order.ts';
import { agentGoalAccuracy } from '../metrics/agent-goal-accuracy.ts';
import { topicAdherence } from '../metrics/topic-adherence.ts';
import { compareWithLabels, type SuiteReport, type SuiteResult } from './compare.ts';
import type { SuiteRow } from './read-suite.ts';

export interface SuiteOptions {
  /** Conversations under way at once; at least 1. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/**
 * Puts every conversation of a suite before the judge with both metrics that need no reference, at their defaults, and
 * compares.
 *
 * @throws when `signal` aborts: half a suite is no comparison.
 */
export async function judgeSuite(
  rows: readonly SuiteRow[],
  judge: Judge,
  { concurrency, signal }: SuiteOptions,
): Promise<SuiteReport> {
  const judgeBoth = async (row: SuiteRow): Promise<SuiteResult> => {
    const { id, messages } = row;
    const topics = { reference_topics: row.referenceTopics };
    const goalRow: ScoreRow = {
      id,
      metric: agentGoalAccuracy,
      params: agentGoalAccuracy.params.parse(topics),
      messages,
    };
    const topicRow: ScoreRow = { id, metric: topicAdherence, params: topicAdherence.params.parse(topics), messages };
    return {
      row,
      goal: await judgeRow(goalRow, judge, signal),
      topics: await judgeRow(topicRow, judge, signal),
    };
  };
  const results: SuiteResult[] = [];
  for await (const result of mapInOrder(rows, concurrency, judgeBoth)) results.push(result);
  return compareWithLabels(results, judge.model);
}
