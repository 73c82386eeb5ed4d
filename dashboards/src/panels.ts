import type { DataSource, FieldDefaults, Override, Panel, Target } from './model.ts';

/** A panel that has no id and no place yet; `layout` gives it both. */
export type PanelSpec = Omit<Panel, 'id' | 'gridPos'> & { readonly width: number; readonly height: number };

/** One query of a panel; its letter is given by its place. */
export type Query = Omit<Target, 'refId' | 'datasource'>;

/** The data source variables of every dashboard. */
export const PROMETHEUS: DataSource = { type: 'prometheus', uid: '${datasource}' };
const TEMPO: DataSource = { type: 'tempo', uid: '${tempo}' };

interface Common {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  readonly queries: readonly Query[];
  readonly width: number;
  readonly height?: number;
  readonly overrides?: readonly Override[];
}

/** A range query of PromQL, one line in the legend for each series. */
export function series(expr: string, legendFormat: string): Query {
  return { expr, legendFormat, range: true };
}

/** A PromQL query for the newest value only. */
export function newest(expr: string, legendFormat: string): Query {
  return { expr, legendFormat, instant: true, range: false };
}

interface TimeseriesOptions extends Common {
  /** Draws the series on top of each other. */
  readonly stacked?: boolean;
  readonly repeat?: string;
}

export function timeseries(options: TimeseriesOptions): PanelSpec {
  const { stacked = false, repeat } = options;
  return {
    type: 'timeseries',
    ...head(options),
    fieldConfig: {
      defaults: {
        ...defaults(options.unit),
        custom: {
          lineWidth: 1,
          fillOpacity: stacked ? 60 : 0,
          stacking: { mode: stacked ? 'normal' : 'none' },
          showPoints: 'auto',
        },
      },
      overrides: options.overrides ?? [],
    },
    options: {
      legend: { showLegend: true, displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'mean'] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    ...(repeat === undefined ? {} : { repeat, repeatDirection: 'h' as const, maxPerRow: 2 }),
  };
}

interface StatOptions extends Common {
  /** From here on the number is shown in red. */
  readonly alarmFrom?: number;
}

export function stat(options: StatOptions): PanelSpec {
  const steps = [
    { color: 'text', value: null },
    ...(options.alarmFrom === undefined ? [] : [{ color: 'red', value: options.alarmFrom }]),
  ];
  return {
    type: 'stat',
    ...head(options),
    fieldConfig: {
      defaults: { ...defaults(options.unit), thresholds: { mode: 'absolute', steps } },
      overrides: options.overrides ?? [],
    },
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      colorMode: 'value',
      graphMode: 'none',
      textMode: 'auto',
    },
  };
}

/** A histogram over time: one column a step, one cell a bucket. */
export function heatmap(options: Common): PanelSpec {
  return {
    type: 'heatmap',
    ...head(options),
    fieldConfig: { defaults: { noValue: NO_VALUE, custom: {} }, overrides: [] },
    options: {
      calculate: false,
      cellGap: 1,
      color: { mode: 'scheme', scheme: 'Blues', steps: 32 },
      yAxis: { unit: options.unit, axisPlacement: 'left' },
      rowsFrame: { layout: 'le' },
      showValue: 'never',
      tooltip: { mode: 'single', showColorScale: true, yHistogram: true },
      exemplars: { color: 'orange' },
      legend: { show: true },
    },
  };
}

interface TableOptions extends Common {
  /** Columns that are left out, and how the others are called. */
  readonly hidden: readonly string[];
  readonly renamed: Readonly<Record<string, string>>;
}

/** One row for each label set: the columns are the labels, then the queries by letter (`Value #A`). */
export function table(options: TableOptions): PanelSpec {
  const { hidden, renamed } = options;
  return {
    type: 'table',
    ...head(options),
    fieldConfig: { defaults: defaults(options.unit), overrides: options.overrides ?? [] },
    options: { showHeader: true, cellHeight: 'sm' },
    transformations: [
      { id: 'merge', options: {} },
      {
        id: 'organize',
        options: { excludeByName: Object.fromEntries(hidden.map((name) => [name, true])), renameByName: renamed },
      },
    ],
  };
}

/** The spans that a TraceQL query finds, each a link to its trace. */
export function traces(options: Omit<Common, 'unit' | 'queries'> & { readonly query: string }): PanelSpec {
  const query: Query = { query: options.query, queryType: 'traceql', tableType: 'spans', limit: 20 };
  return {
    type: 'table',
    ...head({ ...options, queries: [query] }, TEMPO),
    fieldConfig: { defaults: { noValue: NO_VALUE }, overrides: [] },
    options: { showHeader: true, cellHeight: 'sm' },
  };
}

const NO_VALUE = 'no data';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

function head(
  options: Omit<Common, 'unit'>,
  datasource: DataSource = PROMETHEUS,
): Omit<PanelSpec, 'type' | 'fieldConfig' | 'options'> {
  const { title, description, queries, width, height = 8 } = options;
  const targets = queries.map((query, index) => ({ refId: LETTERS.charAt(index), datasource, ...query }));
  return { title, description, datasource, targets, width, height };
}

function defaults(unit: string): FieldDefaults {
  return unit === 'percentunit' ? { unit, min: 0, max: 1, noValue: NO_VALUE } : { unit, noValue: NO_VALUE };
}
