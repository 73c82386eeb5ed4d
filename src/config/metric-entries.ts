import type { Metric } from '../metrics/metric.ts';
import { readParams } from './metric-params.ts';
import type { GivenParams } from './metric-params.ts';
import { nearest } from './nearest.ts';
import type { Origin, Report } from './problem.ts';
import { reportMissingVariables } from './read-setting.ts';
import { showGiven } from './redact.ts';
import type { Scalar, Tree } from './tree.ts';
import { showKind, valueAt } from './tree.ts';

/** What the configuration needs to know of the metrics there are. */
export type MetricCatalog = readonly Pick<Metric, 'name' | 'needs' | 'params'>[];

/** One entry of `metrics`: a metric asked for, with the parameters that were given. */
export interface MetricEntry {
  readonly path: string;
  readonly origin: Origin;
  readonly metric: MetricCatalog[number];
  readonly params: GivenParams;
}

/** Metrics that can be judged without a reference, which live conversations never have. */
export function onlineMetrics(catalog: MetricCatalog): MetricCatalog {
  return catalog.filter(({ needs }) => needs.length === 0);
}

/** Reads the list of metrics asked for; entries that make no sense are reported and left out. */
export function readEntries(given: Tree, catalog: MetricCatalog, report: Report): readonly MetricEntry[] {
  if (given.kind === 'section') {
    const expected = 'a list of metric names, or of sections with a name and parameters';
    report({ setting: 'metrics', origin: given.origin, given: showKind(given), expected });
    return [];
  }
  const items = given.kind === 'list' ? given.items : splitNames(given.text ?? '', given);
  if (items.length === 0) {
    const remedy = 'To judge nothing, set sampling.rate to 0.';
    report({
      setting: 'metrics',
      origin: given.origin,
      given: 'an empty list',
      expected: 'at least one metric',
      remedy,
    });
  }
  const entries: MetricEntry[] = [];
  for (const [index, item] of items.entries()) {
    const path = given.kind === 'list' ? `metrics[${index}]` : 'metrics';
    const entry = readEntry(item, path, catalog, report);
    if (entry === undefined) continue;
    if (entries.some(({ metric }) => metric === entry.metric)) {
      const expected = 'each metric once';
      report({ setting: path, origin: item.origin, given: `${entry.metric.name} a second time`, expected });
    }
    entries.push(entry);
  }
  return entries;
}

function splitNames(text: string, scalar: Scalar): readonly Tree[] {
  const names = text.split(',').flatMap((part) => part.trim() || []);
  return names.map((name) => ({ ...scalar, text: name }));
}

function readEntry(item: Tree, path: string, catalog: MetricCatalog, report: Report): MetricEntry | undefined {
  const { origin } = item;
  const online = onlineMetrics(catalog).map(({ name }) => name);
  const expected = `one of ${online.join(', ')}`;
  const name = item.kind === 'section' ? valueAt(item, ['name']) : item;
  if (name?.kind !== 'scalar' || name.text === null) {
    const kind = item.kind === 'section' ? 'no name' : showKind(item);
    report({ setting: item.kind === 'section' ? `${path}.name` : path, origin, given: kind, expected });
    return undefined;
  }
  if (name.missing) {
    reportMissingVariables(name, path, expected, report);
    return undefined;
  }
  const metric = catalog.find((candidate) => candidate.name === name.text);
  if (metric === undefined) {
    const meant = nearest(name.text, online);
    const remedy = meant === undefined ? undefined : `Did you mean ${meant}?`;
    report({ setting: path, origin, given: showGiven(name.text), expected, ...(remedy !== undefined && { remedy }) });
    return undefined;
  }
  if (metric.needs.length > 0) {
    const given = `${metric.name}, which needs a reference that live conversations do not have`;
    report({ setting: path, origin, given, expected, remedy: 'Use it with the score command.' });
    return undefined;
  }
  const params = item.kind === 'section' ? readParams(item, path, metric, report) : {};
  return { path, origin, metric, params };
}
