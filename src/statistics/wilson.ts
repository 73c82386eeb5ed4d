/** A share with its 95 % interval. */
export interface Proportion {
  readonly hits: number;
  readonly n: number;
  /** `hits / n`; null when `n` is 0. */
  readonly share: number | null;
  /** Bounds in [0, 1]; null when `n` is 0. */
  readonly interval: Interval | null;
}

/** Lower and upper bound, inclusive. */
export type Interval = readonly [number, number];

/** The quantile of the standard normal distribution that leaves 2.5 % above it. */
export const Z_95 = 1.959_963_984_540_054;

/**
 * Wilson's score interval for a proportion: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n). Source: E. B. Wilson,
 * "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209–212.
 *
 * @param n more than 0.
 */
export function wilsonInterval(hits: number, n: number, z = Z_95): Interval {
  if (!(n > 0 && hits >= 0 && hits <= n))
    throw new RangeError(`expected 0 <= hits <= n and n > 0, got ${hits} of ${n}`);
  const p = hits / n;
  const centre = p + z ** 2 / (2 * n);
  const spread = z * Math.sqrt((p * (1 - p)) / n + z ** 2 / (4 * n ** 2));
  const scale = 1 + z ** 2 / n;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

export function proportion(hits: number, n: number): Proportion {
  if (n === 0) return { hits, n, share: null, interval: null };
  return { hits, n, share: hits / n, interval: wilsonInterval(hits, n) };
}
