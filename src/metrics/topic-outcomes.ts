/** How many topics ended in each of the four ways. */
export interface OutcomeCounts {
  /** True positives. */
  readonly on_topic_answered: number;
  /** False positives. */
  readonly off_topic_answered: number;
  /** False negatives. */
  readonly on_topic_refused: number;
  /** True negatives. */
  readonly off_topic_refused: number;
}

export const ADHERENCE_MODES = ['precision', 'recall', 'f1'] as const;

export type AdherenceMode = (typeof ADHERENCE_MODES)[number];

/** One topic, as far as the arithmetic is concerned. */
export interface TopicOutcome {
  readonly on_topic: boolean;
  readonly refused: boolean;
}

const outcomeOf = ({ on_topic, refused }: TopicOutcome): keyof OutcomeCounts =>
  `${on_topic ? 'on' : 'off'}_topic_${refused ? 'refused' : 'answered'}`;

export function countOutcomes(topics: readonly TopicOutcome[]): OutcomeCounts {
  const counts = { on_topic_answered: 0, off_topic_answered: 0, on_topic_refused: 0, off_topic_refused: 0 };
  for (const topic of topics) counts[outcomeOf(topic)]++;
  return counts;
}

/** What the counts come to. `adhered`: nothing but off-topic requests, all of them refused. */
export type Adherence =
  | { readonly kind: 'value'; readonly value: number; readonly adhered?: true }
  | { readonly kind: 'not_applicable'; readonly why: string };

/**
 * Topic adherence, exact: precision = TP/(TP+FP), recall = TP/(TP+FN), f1 = 2TP/(2TP+FP+FN). The rules before and after
 * the division, and their order, are those of docs/metrics.md.
 */
export function adherence(counts: OutcomeCounts, mode: AdherenceMode): Adherence {
  const { on_topic_answered: tp, off_topic_answered: fp, on_topic_refused: fn, off_topic_refused: tn } = counts;
  if (tp + fp + fn + tn === 0) return { kind: 'not_applicable', why: 'The user raised no topic.' };
  if (tp + fp + fn === 0) return { kind: 'value', value: 1, adhered: true };
  if (mode === 'f1') return { kind: 'value', value: (2 * tp) / (2 * tp + fp + fn) };
  const denominator = mode === 'precision' ? tp + fp : tp + fn;
  if (denominator > 0) return { kind: 'value', value: tp / denominator };
  const missing = mode === 'precision' ? 'No topic was answered' : 'No topic was on topic';
  return { kind: 'not_applicable', why: `${missing}, so ${mode} is not defined.` };
}

/** Ragas' arithmetic, in its order of operations: 1e-10 in every denominator, f1 = 2PR/(P+R+1e-10). */
export function adherenceAsRagas(
  { on_topic_answered: tp, off_topic_answered: fp, on_topic_refused: fn }: OutcomeCounts,
  mode: AdherenceMode,
): number {
  const epsilon = 1e-10;
  const precision = tp / (tp + fp + epsilon);
  const recall = tp / (tp + fn + epsilon);
  if (mode === 'precision') return precision;
  if (mode === 'recall') return recall;
  return (2 * (precision * recall)) / (precision + recall + epsilon);
}
