/** What is measured of each target, one value a window. */
export const FIGURES = {
  cpuPerEvent: { title: 'CPU per event', unit: 'µs' },
  p99: { title: 'p99 latency', unit: 'µs' },
  cpuPerRun: { title: 'CPU per short run', unit: 'µs' },
  added: { title: 'added p50, lock-step', unit: 'µs' },
  cpuPerMegabyte: { title: 'CPU per MB, bulk', unit: 'ms' },
  memory: { title: 'memory per open stream', unit: 'KB' },
} as const;

export type Figure = keyof typeof FIGURES;

/** Values by figure and target, in the order of their windows: the same place is the same window for all targets. */
export interface Samples<Name extends string = Figure> {
  add(figure: Name, target: string, value: number): void;
  of(figure: Name, target: string): readonly number[];
}

export function createSamples<Name extends string = Figure>(): Samples<Name> {
  const values = new Map<string, number[]>();
  const listOf = (figure: Name, target: string): number[] => {
    const key = `${figure} ${target}`;
    const list = values.get(key) ?? [];
    values.set(key, list);
    return list;
  };
  return {
    add: (figure, target, value) => void listOf(figure, target).push(value),
    of: listOf,
  };
}
