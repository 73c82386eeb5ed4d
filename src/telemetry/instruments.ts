import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import { METRIC } from './semconv.ts';

export type Labels = Readonly<Record<string, string>>;

interface CounterInstrument {
  /** Adds `value`, by default 1. A value that is not finite or below 0 is refused and counted. */
  inc(labels: Labels, value?: number): void;
}

interface HistogramInstrument {
  /** Observes a value; one that is not finite or below 0 is refused and counted. Last of its bucket, it keeps `traceId`. */
  observe(labels: Labels, value: number, traceId?: string): void;
}

interface Definition {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /**
   * The label sets that are known beforehand. Each begins at 0: `increase()` never sees the first event of a series that is
   * born with it.
   */
  readonly known: readonly Labels[];
}

export interface Instruments {
  counter(definition: Definition): CounterInstrument;
  histogram(definition: Definition & { readonly buckets: readonly number[] }): HistogramInstrument;
  /** A counter that something else counts: read at each scrape. */
  countedElsewhere(name: string, help: string, read: () => number): void;
  /** Read at each scrape. A reading that throws shows as NaN: unknown, and not as the last that was known. */
  gauge(name: string, help: string, read: () => number): void;
  /** A gauge by label set that is set and changed, never read. */
  changingGauge(definition: Definition): { add(labels: Labels, change: 1 | -1): void };
  /** Series of constant value 1 whose labels say something. */
  info(definition: Definition): void;
  /** Counts a value that would have spoilt a series, and says so. */
  refuse(series: string, value: number): void;
}

/**
 * prom-client as this project uses it: label sets begin at 0, and no value can spoil a series. (The library takes NaN into
 * a counter silently, for ever, and throws at the caller for other bad values.)
 *
 * @param onRefused told of each value that was refused: a defect of ours.
 */
export function createInstruments(
  registry: Registry<OpenMetricsContentType>,
  onRefused: (series: string, value: number) => void,
): Instruments {
  const registers = [registry];
  const series = Object.values(METRIC);
  const refused = new Counter({
    name: METRIC.refusedValues,
    help: 'Values that were not put into a series because they would have spoilt it, by series. Anything above 0 is a defect.',
    labelNames: ['series'],
    registers,
  });
  for (const name of series) refused.inc({ series: name }, 0);
  const refuse = (name: string, value: number) => {
    refused.inc({ series: name });
    onRefused(name, value);
  };
  const isUsable = (value: number) => Number.isFinite(value) && value >= 0;

  return {
    refuse,
    counter({ name, help, labels: labelNames, known }) {
      const counter = new Counter({ name, help, labelNames, registers });
      for (const labels of known) counter.inc(labels, 0);
      return {
        inc(labels, value = 1) {
          if (isUsable(value)) counter.inc(labels, value);
          else refuse(name, value);
        },
      };
    },
    histogram({ name, help, labels: labelNames, known, buckets }) {
      const histogram = new Histogram({
        name,
        help,
        labelNames,
        buckets: [...buckets],
        enableExemplars: true,
        registers,
      });
      for (const labels of known) histogram.zero(labels);
      return {
        observe(labels, value, traceId) {
          if (!isUsable(value)) refuse(name, value);
          else if (traceId === undefined) histogram.observe({ labels, value });
          else histogram.observe({ labels, value, exemplarLabels: { trace_id: traceId } });
        },
      };
    },
    countedElsewhere(name, help, read) {
      const counter: Counter = new Counter({
        name,
        help,
        registers,
        collect() {
          counter.reset();
          counter.inc(read());
        },
      });
    },
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers,
        collect() {
          try {
            gauge.set(read());
          } catch {
            gauge.set(Number.NaN);
          }
        },
      });
    },
    changingGauge({ name, help, labels: labelNames, known }) {
      const gauge = new Gauge({ name, help, labelNames, registers });
      for (const labels of known) gauge.set(labels, 0);
      return { add: (labels, change) => gauge.inc(labels, change) };
    },
    info({ name, help, labels: labelNames, known }) {
      const gauge = new Gauge({ name, help, labelNames, registers });
      for (const labels of known) gauge.set(labels, 1);
    },
  };
}

/** Values of one label that are known; any other becomes `other`, so that no series is born of what came in. */
export function boundedLabel(known: Iterable<string>): { values: readonly string[]; of(value: string): string } {
  const values = new Set([...known, 'other']);
  return { values: [...values], of: (value) => (values.has(value) ? value : 'other') };
}

/** Every combination of the given values: `{ a: ['1'], b: ['2', '3'] }` gives two label sets. */
export function combinations(values: Readonly<Record<string, readonly string[]>>): Labels[] {
  return Object.entries(values).reduce<Labels[]>(
    (sets, [name, each]) => sets.flatMap((labels) => each.map((value) => ({ ...labels, [name]: value }))),
    [{}],
  );
}
