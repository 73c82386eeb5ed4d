/** PromQL that several panels share. Metric names are arguments; see src/telemetry/semconv.ts. */

/** The variables that every query of the dashboards is narrowed by. */
export const JOB = 'job=~"$job", instance=~"$instance"';
export const AGENT = `${JOB}, agent=~"$agent"`;
export const AGENT_METRIC = `${AGENT}, metric=~"$metric"`;

export function increase(metric: string, selector: string, window: string, by: readonly string[]): string {
  return sumBy(by, `increase(${metric}{${selector}}[${window}])`);
}

export function rate(metric: string, selector: string, by: readonly string[]): string {
  return sumBy(by, `rate(${metric}{${selector}}[$__rate_interval])`);
}

/** The q-quantile of a histogram, 0 < q < 1, over the interval of one point. */
export function quantile(q: number, histogram: string, selector: string, by: readonly string[]): string {
  return `histogram_quantile(${q}, ${rate(`${histogram}_bucket`, selector, ['le', ...by])})`;
}

/** `part / whole` where there is a whole, at most 1: `increase` extrapolates, so a part may come out over its whole. */
export function ratio(part: string, whole: string): string {
  return `clamp_max(${part} / (${whole} > 0), 1)`;
}

/** 1.96: the standard normal deviate of a 95 % interval. */
const Z = 1.96;

/**
 * A bound of the 95 % Wilson score interval of k passes in n scores (Wilson 1927):
 * (k + z²/2 ± z·√(k(n−k)/n + z²/4)) / (n + z²). No value where n is 0.
 */
export function wilson(bound: 'lower' | 'upper', k: string, n: string): string {
  const sign = bound === 'lower' ? '-' : '+';
  const half = round(Z ** 2 / 2);
  const root = `sqrt(clamp_min(${k} * (${n} - ${k}) / (${n} > 0), 0) + ${round(Z ** 2 / 4)})`;
  return `(${k} + ${half} ${sign} ${Z} * ${root}) / (${n} + ${round(Z ** 2)})`;
}

/** Keeps a value only where it rests on at least `least` scores. */
export function whereEnough(value: string, n: string, least: number): string {
  return `(${value}) and (${n} >= ${least})`;
}

function sumBy(by: readonly string[], vector: string): string {
  return by.length === 0 ? `sum(${vector})` : `sum by (${by.join(', ')}) (${vector})`;
}

/** Four decimals, without the noise of binary fractions. */
const round = (value: number): number => Number(value.toFixed(4));
