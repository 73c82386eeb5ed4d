import type { Dashboard, Panel, Row, Target } from './model.ts';

/** What is wrong with a dashboard: `bad` breaks it somewhere, `warnings` make it worse to use. */
export interface LintReport {
  readonly bad: readonly string[];
  readonly warnings: readonly string[];
}

/** Panels that draw no query. */
const TEXTUAL = new Set<string>(['row', 'text', 'dashlist', 'alertlist']);

/** Names that Grafana provides: variables of every query, and the value that stands for every value. */
const BUILT_IN = new Set(['__rate_interval', '__interval', '__range', '__range_s', '__all']);

const COLUMNS = 24;

/** Checks the rules that a dashboard must keep to work in any Grafana it is imported into. Needs no server. */
export function lint(dashboard: Dashboard): LintReport {
  const panels = allPanels(dashboard);
  return {
    bad: [
      ...lintDashboard(dashboard),
      ...lintLayout(dashboard),
      ...panels.flatMap((panel) => lintPanel(panel).map((fault) => `panel “${panel.title}”: ${fault}`)),
      ...lintVariables(dashboard),
    ],
    warnings: panels.flatMap((panel) => [
      ...(panel.description.trim() === '' ? [`panel “${panel.title}” has no description`] : []),
      ...panel.targets
        .filter(({ expr = '' }) => /\b(?:i?rate|increase|delta)\([^[]*\[\d/.test(expr))
        .map(({ refId }) => `panel “${panel.title}”, query ${refId} looks back over a fixed range`),
    ]),
  };
}

/** Every panel with its queries, those in collapsed rows too. */
export function allPanels({ panels }: Dashboard): Panel[] {
  return panels
    .flatMap((panel) => (panel.type === 'row' ? panel.panels : [panel]))
    .filter(({ type }) => !TEXTUAL.has(type));
}

/** Every PromQL expression with the panel it belongs to. */
export function promQueries(
  dashboard: Dashboard,
): { readonly panel: string; readonly target: Target; readonly expr: string }[] {
  return allPanels(dashboard).flatMap(({ title, targets }) =>
    targets.flatMap((target) => (target.expr === undefined ? [] : [{ panel: title, target, expr: target.expr }])),
  );
}

function lintDashboard(dashboard: Dashboard): string[] {
  const variables = dashboard.templating.list;
  return [
    ...(/^[\w-]{1,40}$/.test(dashboard.uid) ? [] : ['the uid is missing or longer than 40 characters']),
    ...('id' in dashboard && typeof dashboard.id === 'number' ? ['it has a numeric id'] : []),
    ...(dashboard.editable ? ['it is editable'] : []),
    ...(variables.some(({ type, query }) => type === 'datasource' && query === 'prometheus')
      ? []
      : ['no variable chooses the Prometheus data source']),
    ...variables
      .filter((variable) => variable.type === 'query' && variable.refresh !== 2)
      .map(({ name }) => `variable ${name} is not refreshed when the time range changes`),
  ];
}

function lintLayout({ panels }: Dashboard): string[] {
  const flat = panels.flatMap((panel): (Panel | Row)[] => (panel.type === 'row' ? [panel, ...panel.panels] : [panel]));
  const ids = flat.map(({ id }) => id);
  const boxes = flat.filter((panel): panel is Panel => panel.type !== 'row');
  return [
    ...(ids.every((id) => id > 0) && new Set(ids).size === ids.length ? [] : ['panel ids are missing or repeated']),
    ...boxes
      .filter(({ gridPos: { x, w } }) => x < 0 || w <= 0 || x + w > COLUMNS)
      .map(({ title }) => `panel “${title}” reaches over the grid's edge`),
    ...boxes.flatMap((a, index) =>
      boxes
        .slice(index + 1)
        .filter((b) => overlap(a, b))
        .map((b) => `panels “${a.title}” and “${b.title}” overlap`),
    ),
  ];
}

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function lintPanel({ title, type, fieldConfig, options, datasource, targets }: Panel): string[] {
  const refIds = targets.map(({ refId }) => refId);
  const sources = [datasource, ...targets.map((target) => target.datasource)];
  const axis = options['yAxis'];
  const unit = fieldConfig.defaults.unit ?? (typeof axis === 'object' && axis !== null && 'unit' in axis && axis.unit);
  return [
    ...(title.trim() === '' ? ['no title'] : []),
    ...(unit || type === 'table' ? [] : ['no unit']),
    ...(sources.every(({ uid }) => /^\$\{\w+\}$/.test(uid)) ? [] : ['its data source is not a variable']),
    ...(targets.length === 0 ? ['no queries'] : []),
    ...(refIds.every((refId) => refId !== '') && new Set(refIds).size === refIds.length
      ? []
      : ['query letters are missing or repeated']),
    ...targets
      .filter(({ expr = '' }) => expr !== '' && bareCounters(expr).length > 0)
      .map(({ refId, expr = '' }) => `query ${refId} shows the raw counter ${bareCounters(expr).join(', ')}`),
    ...targets
      .filter(({ expr = '' }) => expr !== '' && !isNarrowed(expr))
      .map(({ refId }) => `query ${refId} is not narrowed by job and instance`),
    ...targets.filter(({ expr, query }) => !expr && !query).map(({ refId }) => `query ${refId} is empty`),
  ];
}

/** Counters outside of a function that turns them into a rate or a difference. */
function bareCounters(expr: string): string[] {
  const inside = expr.replaceAll(/\b(?:i?rate|increase|resets)\(\w+(?:\{[^}]*\})?\[[^\]]*\]\)/g, '');
  return inside.match(/\b\w+_total\b/g) ?? [];
}

function isNarrowed(expr: string): boolean {
  const selectors = expr.match(/\{[^}]*\}/g) ?? [];
  return selectors.length > 0 && selectors.every((selector) => /\bjob=~.*\binstance=~/.test(selector));
}

function lintVariables(dashboard: Dashboard): string[] {
  const known = new Set([...dashboard.templating.list.map(({ name }) => name), ...BUILT_IN]);
  const used = JSON.stringify(dashboard).matchAll(/\$\{?([A-Za-z_]\w*)/g);
  const unknown = new Set([...used].map(([, name = '']) => name).filter((name) => !known.has(name)));
  return [...unknown].map((name) => `variable $${name} is used and not defined`);
}
