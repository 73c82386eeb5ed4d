import { proportion, wilsonInterval, Z_95, type Interval, type Proportion } from './wilson.ts';

/** What was labelled and what was judged, for one item. */
export interface LabelPair {
  readonly labelled: string;
  readonly judged: string;
}

/** Cohen's κ: 1 is full agreement, 0 what chance alone would give. Null where it is not defined. */
export interface Kappa {
  readonly value: number | null;
  /** 95 % interval, cut to [-1, 1]. Unreliable below some 30 items, null where nothing gives one; see docs/metrics.md. */
  readonly interval: Interval | null;
}

export interface Agreement {
  /** Items on which both agree. */
  readonly accuracy: Proportion;
  /** Accuracy of giving every item the most frequent label; null without items. */
  readonly baseRate: number | null;
  readonly kappa: Kappa;
}

export function measureAgreement(pairs: readonly LabelPair[]): Agreement {
  const labels = countBy(pairs.map(({ labelled }) => labelled));
  return {
    accuracy: proportion(pairs.filter(({ labelled, judged }) => labelled === judged).length, pairs.length),
    baseRate: pairs.length === 0 ? null : Math.max(...labels.values()) / pairs.length,
    kappa: cohenKappa(pairs),
  };
}

/** Of the items labelled `label`, how many were judged so. With the positive label this is sensitivity, with the negative one specificity. */
export function recognised(pairs: readonly LabelPair[], label: string): Proportion {
  const labelled = pairs.filter((pair) => pair.labelled === label);
  return proportion(labelled.filter(({ judged }) => judged === label).length, labelled.length);
}

/**
 * κ = (p₀ − pₑ) / (1 − pₑ), from J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
 * Measurement 20 (1960) 37–46. Its large-sample variance, which gives the interval, from J. L. Fleiss, J. Cohen and
 * B. S. Everitt, "Large sample standard errors of kappa and weighted kappa", Psychological Bulletin 72 (1969) 323–327.
 * After full agreement that variance is 0, which is not certainty: then Wilson's lower bound of p₀ is carried over at
 * fixed pₑ. Where it is 0 otherwise, as when one side gives one label throughout, there is no interval. Not defined
 * without items, or when both sides use one and the same label throughout (pₑ = 1).
 */
export function cohenKappa(pairs: readonly LabelPair[]): Kappa {
  const n = pairs.length;
  if (n === 0) return { value: null, interval: null };
  const labelled = countBy(pairs.map((pair) => pair.labelled));
  const judged = countBy(pairs.map((pair) => pair.judged));
  const categories = [...new Set([...labelled.keys(), ...judged.keys()])];
  const rowShare = (category: string): number => (labelled.get(category) ?? 0) / n;
  const columnShare = (category: string): number => (judged.get(category) ?? 0) / n;

  const observed = pairs.filter((pair) => pair.labelled === pair.judged).length / n;
  const expected = categories.reduce((sum, category) => sum + rowShare(category) * columnShare(category), 0);
  if (1 - expected < 1e-12) return { value: null, interval: null };
  const value = (observed - expected) / (1 - expected);
  if (observed === 1) return { value, interval: [(wilsonInterval(n, n)[0] - expected) / (1 - expected), 1] };

  // One summand for each pair instead of each cell: cells are sums of pairs, and every pair weighs 1/n.
  const cells = pairs.reduce((sum, pair) => {
    const agrees = pair.labelled === pair.judged;
    const term = agrees
      ? 1 - expected - (rowShare(pair.labelled) + columnShare(pair.labelled)) * (1 - observed)
      : (columnShare(pair.labelled) + rowShare(pair.judged)) * (1 - observed);
    return sum + term ** 2 / n;
  }, 0);
  const scatter = cells - (observed * expected - 2 * expected + observed) ** 2;
  // Equal but for rounding.
  if (scatter <= 1e-9 * cells) return { value, interval: null };
  const spread = (Z_95 * Math.sqrt(scatter / n)) / (1 - expected) ** 2;
  return { value, interval: [Math.max(-1, value - spread), Math.min(1, value + spread)] };
}

function countBy(labels: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}
