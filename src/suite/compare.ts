import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { JudgedRow } from '../batch/judge-row.ts';
import type { Verdict } from '../metrics/metric.ts';
import { topicAdherence, topicOutcomes } from '../metrics/topic-adherence.ts';
import { adherence, countOutcomes } from '../metrics/topic-outcomes.ts';
import { passOrFail } from '../metrics/verdict.ts';
import { measureAgreement, recognised, type Agreement, type LabelPair } from '../statistics/agreement.ts';
import { proportion, type Proportion } from '../statistics/wilson.ts';
import { pairTopics } from './pair-topics.ts';
import type { LabelledTopic, SuiteRow } from './read-suite.ts';

/** A labelled row with the judge's verdicts on it. */
export interface SuiteResult {
  readonly row: SuiteRow;
  readonly goal: JudgedRow;
  readonly topics: JudgedRow;
}

/** How a judge agrees with the labels on one metric. Failed judgements are in `failed` and nowhere else. */
export interface MetricComparison extends Agreement {
  readonly metric: string;
  /** One hash over the evaluator versions of all rows, which differ since every row has its own topics. */
  readonly evaluatorVersion: string;
  /** Rows with a label and a verdict. */
  readonly n: number;
  /** Of the rows labelled positive, those judged so; a `not_applicable` among them counts against the judge. */
  readonly sensitivity: Proportion;
  /** Of the rows labelled negative, those judged so, likewise. */
  readonly specificity: Proportion;
  readonly byTag: readonly { readonly tag: string; readonly agreed: Proportion }[];
  readonly disagreements: readonly Disagreement[];
  readonly failed: readonly { readonly id: string; readonly errorType: string; readonly cause: string }[];
}

interface Disagreement extends LabelPair {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labelReason: string;
  readonly judgeReason: string;
}

/** Topics paired by turn; see {@link pairTopics}. */
export interface TopicComparison {
  readonly pairs: number;
  readonly onTopic: Agreement;
  readonly refused: Agreement;
  readonly missed: readonly PlacedName[];
  readonly invented: readonly PlacedName[];
  readonly disagreements: readonly (PlacedName & LabelPair & { readonly field: 'on_topic' | 'refused' })[];
}

interface PlacedName {
  readonly id: string;
  readonly turn: number;
  readonly topic: string;
}

export interface SuiteReport {
  readonly judge: string;
  readonly rows: number;
  /** Requests to the judge, repeats included; of a file judge, the questions it was asked. */
  readonly judgeCalls: number;
  readonly goal: MetricComparison;
  readonly topicRows: MetricComparison & {
    /** Rows whose value equals that of the labels, where both have one. */
    readonly valueAgreed: Proportion;
  };
  readonly topics: TopicComparison;
}

export function compareWithLabels(results: readonly SuiteResult[], judge: string): SuiteReport {
  const topicItems = results.map(toTopicItem);
  const withValues = topicItems.filter(({ verdict, value }) => verdict.kind === 'scored' && value !== undefined);
  const valueAgreed = withValues.filter(
    ({ verdict, value = NaN }) => verdict.kind === 'scored' && Math.abs(verdict.value - value) < 1e-9,
  );
  return {
    judge,
    rows: results.length,
    judgeCalls: results.reduce((sum, { goal, topics }) => sum + goal.calls.length + topics.calls.length, 0),
    goal: compareMetric(results.map(toGoalItem), ['1', '0']),
    topicRows: {
      ...compareMetric(topicItems, ['pass', 'fail']),
      valueAgreed: proportion(valueAgreed.length, withValues.length),
    },
    topics: compareTopics(results),
  };
}

/** One row of one metric: what the labels say and what came of judging it. */
interface Item {
  readonly row: SuiteRow;
  readonly judged: JudgedRow;
  readonly verdict: Verdict;
  readonly labelled: string;
  readonly labelReason: string;
  readonly judgedAs: string;
  readonly judgeReason: string;
}

function toGoalItem({ row, goal }: SuiteResult): Item {
  const { verdict } = goal;
  return {
    row,
    judged: goal,
    verdict,
    labelled: String(row.goal),
    labelReason: row.goalReason,
    judgedAs: verdict.kind === 'scored' ? String(verdict.value) : verdict.kind,
    judgeReason: reasonOf(verdict),
  };
}

/** Labels say nothing of values: theirs come from the labelled topics by the metric's own arithmetic. */
function toTopicItem({ row, topics }: SuiteResult): Item & { readonly value?: number } {
  const { mode, threshold } = topicAdherence.params.parse({ reference_topics: row.referenceTopics });
  const expected = adherence(countOutcomes(row.topics), mode);
  const { verdict } = topics;
  return {
    row,
    judged: topics,
    verdict,
    labelled: expected.kind === 'value' ? passOrFail(expected.value, threshold) : expected.kind,
    labelReason: describeTopics(row.topics),
    judgedAs: verdict.kind === 'scored' ? verdict.label : verdict.kind,
    judgeReason: describeTopics(topicsOf(verdict)),
    ...(expected.kind === 'value' ? { value: expected.value } : {}),
  };
}

/** Topics of both sides in the same words, so that they can be compared by eye. */
const describeTopics = (topics: readonly Omit<LabelledTopic, 'quote'>[]): string =>
  topics
    .map(
      ({ topic, turn, on_topic, refused }) =>
        `${topic} (turn ${turn}): ${on_topic ? 'on' : 'off'} topic, ${refused ? 'refused' : 'answered'}`,
    )
    .join('; ') || 'no topic';

/** The topics a verdict rests on; none when it needed no question. */
const topicsOf = (verdict: Verdict): readonly z.output<typeof topicOutcomes>['topics'][number][] =>
  topicOutcomes.safeParse(verdict.details).data?.topics ?? [];

function reasonOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'scored':
      return verdict.reason;
    case 'not_applicable':
      return verdict.why;
    case 'failed':
      return verdict.cause;
  }
}

function compareMetric(items: readonly Item[], [positive, negative]: readonly [string, string]): MetricComparison {
  const compared = items.filter(({ verdict }) => verdict.kind !== 'failed');
  const pairs = compared.map(({ labelled, judgedAs }) => ({ labelled, judged: judgedAs }));
  const tags = [...new Set(items.flatMap(({ row }) => row.tags))].toSorted();
  return {
    metric: items[0]?.judged.row.metric.name ?? '',
    evaluatorVersion: hashOf(items.map(({ judged }) => judged.evaluatorVersion)),
    n: compared.length,
    ...measureAgreement(pairs),
    sensitivity: recognised(pairs, positive),
    specificity: recognised(pairs, negative),
    byTag: tags.map((tag) => {
      const tagged = compared.filter(({ row }) => row.tags.includes(tag));
      return { tag, agreed: proportion(tagged.filter(agrees).length, tagged.length) };
    }),
    disagreements: compared.filter((item) => !agrees(item)).map(toDisagreement),
    failed: items.flatMap(({ row, verdict }) =>
      verdict.kind === 'failed' ? [{ id: row.id, errorType: verdict.errorType, cause: verdict.cause }] : [],
    ),
  };
}

const hashOf = (versions: readonly string[]): string =>
  createHash('sha256').update(versions.toSorted().join('\n')).digest('hex').slice(0, 16);

const agrees = ({ labelled, judgedAs }: Item): boolean => labelled === judgedAs;

const toDisagreement = ({ row, labelled, judgedAs, labelReason, judgeReason }: Item): Disagreement => ({
  id: row.id,
  tags: row.tags,
  labelled,
  judged: judgedAs,
  labelReason,
  judgeReason,
});

function compareTopics(results: readonly SuiteResult[]): TopicComparison {
  const rows = results.flatMap(({ row, topics: { verdict } }) => {
    if (verdict.kind === 'failed') return [];
    const judged = topicsOf(verdict).map(({ evidence, ...topic }) => ({ ...topic, quote: evidence }));
    return [{ id: row.id, ...pairTopics(row.topics, judged, (turn) => row.messages[turn - 1]?.text ?? '') }];
  });
  const pairs = rows.flatMap(({ id, pairs: paired }) => paired.map(([label, found]) => ({ id, label, found })));
  const onField = (field: 'on_topic' | 'refused') =>
    pairs.map(({ id, label: { turn, topic, [field]: labelled }, found: { [field]: judged } }) => ({
      id,
      turn,
      topic,
      field,
      labelled: String(labelled),
      judged: String(judged),
    }));
  const [onTopic, refused] = [onField('on_topic'), onField('refused')];
  return {
    pairs: pairs.length,
    onTopic: measureAgreement(onTopic),
    refused: measureAgreement(refused),
    missed: rows.flatMap(({ id, missed }) => missed.map(({ turn, topic }) => ({ id, turn, topic }))),
    invented: rows.flatMap(({ id, invented }) => invented.map(({ turn, topic }) => ({ id, turn, topic }))),
    disagreements: [...onTopic, ...refused].filter(({ labelled, judged }) => labelled !== judged),
  };
}
