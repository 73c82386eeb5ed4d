import type { Agreement, Kappa } from '../statistics/agreement.ts';
import type { Interval, Proportion } from '../statistics/wilson.ts';
import type { MetricComparison, SuiteReport, TopicComparison } from './compare.ts';

/**
 * The report as a person reads it. Intervals are 95 %: Wilson's for shares, large-sample for κ.
 *
 * @param answersIn the directory of a file judge, which is called nowhere.
 */
export function renderReport(report: SuiteReport, answersIn?: string): string {
  const { judge, rows, judgeCalls, goal, topicRows, topics } = report;
  const asked =
    answersIn === undefined
      ? `before ${judge}, ${counted(judgeCalls, 'judge call')}`
      : `before the answers in ${answersIn}, ${counted(judgeCalls, 'question')}`;
  return [
    `${counted(rows, 'labelled conversation')} ${asked}. Intervals are 95 %.`,
    '',
    ...renderMetric(goal, ['sensitivity (1)', 'specificity (0)']),
    '',
    ...renderMetric(
      topicRows,
      ['sensitivity (pass)', 'specificity (fail)'],
      [field('same value', share(topicRows.valueAgreed))],
    ),
    ...renderTopics(topics),
    '',
    ...renderTags(goal, topicRows),
    ...renderDisagreements(goal),
    ...renderDisagreements(topicRows),
    ...renderTopicDisagreements(topics),
    ...renderFailures(goal),
    ...renderFailures(topicRows),
    '',
  ].join('\n');
}

function renderMetric(
  comparison: MetricComparison,
  [positive, negative]: readonly [string, string],
  more: readonly string[] = [],
): string[] {
  return [
    `${comparison.metric}  (evaluator ${comparison.evaluatorVersion})`,
    field('n', `${comparison.n}, and ${counted(comparison.failed.length, 'failed judgement')}`),
    ...agreement(comparison),
    field(positive, share(comparison.sensitivity)),
    field(negative, share(comparison.specificity)),
    ...more,
  ];
}

const agreement = ({ accuracy, baseRate, kappa }: Agreement): string[] => [
  field('accuracy', `${share(accuracy)}, base rate ${number(baseRate)}`),
  field("Cohen's κ", agreementBeyondChance(kappa)),
];

function renderTopics({ pairs, onTopic, refused, missed, invented }: TopicComparison): string[] {
  return [
    '  topics paired by turn',
    field('  pairs', `${pairs}; ${missed.length} missed, ${invented.length} invented`),
    field('  on_topic', oneLine(onTopic)),
    field('  refused', oneLine(refused)),
  ];
}

const oneLine = ({ accuracy, baseRate, kappa }: Agreement): string =>
  `${share(accuracy)}, base rate ${number(baseRate)}, κ ${agreementBeyondChance(kappa)}`;

function agreementBeyondChance({ value, interval: bounds }: Kappa): string {
  if (value === null) return 'not defined';
  return bounds === null ? `${number(value)}, no interval` : `${number(value)} ${interval(bounds)}`;
}

function renderTags(goal: MetricComparison, topicRows: MetricComparison): string[] {
  if (goal.byTag.length === 0) return [];
  const width = Math.max(3, ...goal.byTag.map(({ tag }) => tag.length));
  return [
    `${'tag'.padEnd(width)}  ${'goal'.padEnd(26)}  topics`,
    ...goal.byTag.map(({ tag, agreed }, index) => {
      const topics = topicRows.byTag[index]?.agreed;
      return `${tag.padEnd(width)}  ${share(agreed).padEnd(26)}  ${topics === undefined ? '' : share(topics)}`;
    }),
  ];
}

function renderDisagreements({ metric, disagreements }: MetricComparison): string[] {
  if (disagreements.length === 0) return [];
  return [
    '',
    `${metric}: disagreements`,
    ...disagreements.flatMap(({ id, tags, labelled, judged, labelReason, judgeReason }) => [
      `  ${id} [${tags.join(', ')}]: labelled ${labelled}, judged ${judged}`,
      `    label: ${singleLine(labelReason)}`,
      `    judge: ${singleLine(judgeReason)}`,
    ]),
  ];
}

function renderTopicDisagreements({ disagreements, missed, invented }: TopicComparison): string[] {
  const place = ({ id, turn, topic }: { id: string; turn: number; topic: string }): string =>
    `${id}, turn ${turn}, ${singleLine(topic)}`;
  const lines = [
    ...disagreements.map((one) => `  ${place(one)}: ${one.field} labelled ${one.labelled}, judged ${one.judged}`),
    ...missed.map((one) => `  ${place(one)}: missed`),
    ...invented.map((one) => `  ${place(one)}: invented`),
  ];
  return lines.length === 0 ? [] : ['', 'topics: disagreements', ...lines];
}

function renderFailures({ metric, failed }: MetricComparison): string[] {
  if (failed.length === 0) return [];
  return [
    '',
    `${metric}: failed judgements, in none of the numbers above`,
    ...failed.map(({ id, errorType, cause }) => `  ${id}: ${errorType}: ${singleLine(cause)}`),
  ];
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const field = (name: string, value: string): string => `  ${name.padEnd(20)} ${value}`;

/** Two places. What rounds to 0 has no sign: "-0.00" would say that something is below it. */
const number = (value: number | null): string => (value === null ? '-' : value.toFixed(2).replace(/^-(?=0\.00$)/, ''));

const interval = (bounds: Interval | null): string =>
  bounds === null ? '' : `(${number(bounds[0])} to ${number(bounds[1])})`;

const share = ({ hits, n, share: value, interval: bounds }: Proportion): string =>
  value === null ? '-' : `${number(value)} ${interval(bounds)} ${hits}/${n}`;

/** Reasons come from a model: on a terminal they stay on their line and send no control characters. */
const singleLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
