/** A figure over several windows: its median, and how far that can be trusted. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** The value below which the share `at` of `values` lies, interpolated. NaN when there are none. */
export function quantile(values: readonly number[] | Float64Array, at: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const position = at * (sorted.length - 1);
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/**
 * The median with its 95 % interval by order statistics, which assumes nothing about the shape of what was measured. Below
 * six values no pair of them reaches 95 %; then it is the lowest and the highest.
 */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).toSorted();
  const outside = valuesOutside(sorted.length);
  return {
    median: quantile(sorted, 0.5),
    low: sorted[outside] ?? NaN,
    high: sorted[sorted.length - 1 - outside] ?? NaN,
    count: sorted.length,
  };
}

/** How many values at each end the interval leaves out: as many as a fair coin would hardly ever exceed. */
function valuesOutside(count: number): number {
  let outside = 0;
  let probability = 0.5 ** count;
  let below = probability;
  for (;;) {
    // The next value could go too if the median lay beyond it, at either end, in less than 5 % of cases.
    probability *= (count - outside) / (outside + 1);
    below += probability;
    if (2 * below > 0.05 || outside + 1 >= count / 2) return outside;
    outside += 1;
  }
}

/** Values of the same window divided by each other. Windows of which either is missing are left out. */
export function ratios(ones: readonly number[], others: readonly number[]): number[] {
  const count = Math.min(ones.length, others.length);
  return Array.from({ length: count }, (_, window) => ones[window]! / others[window]!).filter((ratio) =>
    Number.isFinite(ratio),
  );
}

/** Slope of the straight line through the logarithms of both: 1 when `y` grows as `x` does, 2 for its square. */
export function exponent(points: readonly { readonly x: number; readonly y: number }[]): number {
  const xs = points.map(({ x }) => Math.log(x));
  const ys = points.map(({ y }) => Math.log(y));
  const fromMean = (values: readonly number[]): number[] => values.map((value) => value - mean(values));
  const [dx, dy] = [fromMean(xs), fromMean(ys)];
  return mean(dx.map((value, at) => value * (dy[at] ?? NaN))) / mean(dx.map((value) => value ** 2));
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
