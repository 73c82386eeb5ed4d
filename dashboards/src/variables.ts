import type { DataSource, Variable } from './model.ts';
import { PROMETHEUS } from './panels.ts';

export function dataSource(name: string, label: string, query: DataSource['type']): Variable {
  return { type: 'datasource', name, label, query };
}

/** A variable with the values that `label` has on the series of `selector`; everything is chosen at first. */
export function labelValues(label: string, title: string, selector: string): Variable {
  return {
    type: 'query',
    name: label,
    label: title,
    datasource: PROMETHEUS,
    query: { qryType: 1, query: `label_values(${selector}, ${label})`, refId: `${label}-values` },
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
    sort: 1,
  };
}

export function interval(name: string, label: string, description: string, values: readonly string[]): Variable {
  const first = values[0] ?? '';
  return {
    type: 'interval',
    name,
    label,
    description,
    query: values.join(','),
    current: { text: first, value: first },
    options: values.map((value) => ({ text: value, value, selected: value === first })),
  };
}
