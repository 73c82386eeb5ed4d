/**
 * The part of Grafana's classic dashboard JSON (schemaVersion 42) that the project's dashboards use. Classic, because
 * file provisioning and the import from grafana.com take it in every Grafana from 10 on.
 */

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schemaVersion: 42;
  readonly editable: false;
  /** 1: a shared crosshair. */
  readonly graphTooltip: 1;
  readonly timezone: 'browser';
  readonly refresh: string;
  readonly time: { readonly from: string; readonly to: string };
  readonly links: readonly DashboardLink[];
  readonly annotations: { readonly list: readonly Annotation[] };
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly (Panel | Row)[];
}

interface DashboardLink {
  readonly title: string;
  readonly type: 'dashboards';
  readonly tags: readonly string[];
  readonly asDropdown: boolean;
  readonly includeVars: boolean;
  readonly keepTime: boolean;
}

export interface DataSource {
  readonly type: 'prometheus' | 'tempo';
  readonly uid: string;
}

export interface Annotation {
  readonly name: string;
  readonly datasource: DataSource;
  readonly enable: boolean;
  readonly iconColor: string;
  readonly expr: string;
  readonly titleFormat: string;
  readonly textFormat: string;
}

export type Variable = DataSourceVariable | QueryVariable | IntervalVariable;

interface DataSourceVariable {
  readonly type: 'datasource';
  readonly name: string;
  readonly label: string;
  readonly query: DataSource['type'];
}

interface QueryVariable {
  readonly type: 'query';
  readonly name: string;
  readonly label: string;
  readonly datasource: DataSource;
  readonly query: { readonly qryType: 1; readonly query: string; readonly refId: string };
  /** 2: asked again when the time range changes. */
  readonly refresh: 2;
  readonly multi: true;
  readonly includeAll: true;
  readonly allValue: string;
  readonly current: { readonly text: readonly string[]; readonly value: readonly string[] };
  readonly sort: 1;
}

interface IntervalVariable {
  readonly type: 'interval';
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly query: string;
  readonly current: { readonly text: string; readonly value: string };
  readonly options: readonly { readonly text: string; readonly value: string; readonly selected: boolean }[];
}

interface GridPosition {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Target {
  readonly refId: string;
  readonly datasource: DataSource;
  /** PromQL; absent on Tempo targets. */
  readonly expr?: string;
  /** TraceQL. */
  readonly query?: string;
  readonly queryType?: 'traceql';
  readonly legendFormat?: string;
  readonly instant?: boolean;
  readonly range?: boolean;
  readonly format?: 'time_series' | 'heatmap' | 'table';
  readonly exemplar?: boolean;
  readonly limit?: number;
  readonly tableType?: 'spans';
}

export interface Panel {
  readonly id: number;
  readonly type: 'timeseries' | 'stat' | 'heatmap' | 'bargauge' | 'table';
  readonly title: string;
  readonly description: string;
  readonly gridPos: GridPosition;
  readonly datasource: DataSource;
  readonly targets: readonly Target[];
  readonly fieldConfig: { readonly defaults: FieldDefaults; readonly overrides: readonly Override[] };
  readonly options: Readonly<Record<string, unknown>>;
  readonly transformations?: readonly { readonly id: string; readonly options: Readonly<Record<string, unknown>> }[];
  /** Draws the panel once for each value of this variable. */
  readonly repeat?: string;
  readonly repeatDirection?: 'h';
  readonly maxPerRow?: number;
}

export interface FieldDefaults {
  readonly unit?: string;
  readonly decimals?: number;
  readonly min?: number;
  readonly max?: number;
  readonly noValue?: string;
  readonly thresholds?: {
    readonly mode: 'absolute';
    readonly steps: readonly { readonly color: string; readonly value: number | null }[];
  };
  readonly custom?: Readonly<Record<string, unknown>>;
}

export interface Override {
  readonly matcher: { readonly id: 'byName' | 'byRegexp'; readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

export interface Row {
  readonly id: number;
  readonly type: 'row';
  readonly title: string;
  readonly collapsed: boolean;
  /** Draws the row and what stands in it once for each value of this variable. */
  readonly repeat?: string;
  readonly gridPos: GridPosition;
  readonly panels: readonly Panel[];
}
