import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DASHBOARDS, fileOf, toFileText } from '../../dashboards/src/generate.ts';
import { allPanels, lint, promQueries } from '../../dashboards/src/lint.ts';
import type { Dashboard } from '../../dashboards/src/model.ts';
import { METRIC } from '../../src/telemetry/semconv.ts';

describe.each(DASHBOARDS)('dashboard $uid', (dashboard) => {
  it('is committed as it is generated', () => {
    expect(readFileSync(fileOf(dashboard), 'utf8'), 'run: node dashboards/src/generate.ts').toBe(toFileText(dashboard));
  });

  it('keeps the rules, without a warning', () => {
    expect(lint(dashboard)).toEqual({ bad: [], warnings: [] });
  });

  it('asks only for series that the sidecar exports', () => {
    const exported = new Set<string>(Object.values(METRIC));
    const asked = [...promQueries(dashboard), ...dashboard.annotations.list]
      .flatMap(({ expr }) => expr.match(/\bagui_\w+/g) ?? [])
      .map((name) => (exported.has(name) ? name : name.replace(/_bucket$/, '')));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((name) => !exported.has(name))).toEqual([]);
  });

  it('asks for its variables from series that the sidecar exports', () => {
    const exported = new Set<string>(Object.values(METRIC));
    const asked = dashboard.templating.list.flatMap((variable) =>
      variable.type === 'query' ? (variable.query.query.match(/\bagui_\w+/g) ?? []) : [],
    );
    expect(asked.filter((name) => !exported.has(name))).toEqual([]);
  });

  it('shows how many scores stand behind every pass ratio', () => {
    const ratios = allPanels(dashboard).filter(({ targets }) =>
      targets.some(({ expr = '' }) => expr.includes(METRIC.passes)),
    );
    expect(ratios.length).toBeGreaterThan(0);
    const silent = ratios.filter(({ fieldConfig }) =>
      fieldConfig.overrides.every(({ matcher }) => matcher.options !== 'scores (n)'),
    );
    expect(silent.map(({ title }) => title)).toEqual([]);
  });
});

describe('the rules', () => {
  const dashboard = DASHBOARDS[0] as Dashboard;
  const panels = dashboard.panels.filter((panel) => panel.type !== 'row');
  const [first, second] = panels as [(typeof panels)[number], (typeof panels)[number]];
  const target = first.targets[0] as (typeof first.targets)[number];
  const withPanel = (change: Partial<typeof first>): Dashboard => ({ ...dashboard, panels: [{ ...first, ...change }] });
  const withQuery = (expr: string): Dashboard => withPanel({ targets: [{ ...target, expr }] });
  const scope = '{job=~"$job", instance=~"$instance"}';

  it.each([
    ['a raw counter', withQuery(`agui_eval_closings_total${scope}`), /raw counter agui_eval_closings_total/],
    ['an unknown variable', withQuery(`sum(up${scope}) * $factor`), /\$factor is used and not defined/],
    ['a query over every job', withQuery('sum(rate(agui_eval_closings_total[$window]))'), /not narrowed by job/],
    ['a selector without the job', withQuery('sum(up{agent=~"$agent"})'), /not narrowed by job/],
    ['an empty query', withQuery(''), /is empty/],
    ['a repeated query letter', withPanel({ targets: [target, target] }), /letters are missing or repeated/],
    ['a fixed data source', withPanel({ datasource: { type: 'prometheus', uid: 'mine' } }), /not a variable/],
    ['a panel without a unit', withPanel({ fieldConfig: { defaults: {}, overrides: [] } }), /no unit/],
    ['a panel beyond the grid', withPanel({ gridPos: { x: 20, y: 0, w: 8, h: 4 } }), /over the grid's edge/],
    [
      'panels on top of each other',
      { ...dashboard, panels: [first, { ...second, gridPos: first.gridPos }] },
      /overlap/,
    ],
    [
      'a repeated panel id',
      { ...dashboard, panels: [first, { ...second, id: first.id }] },
      /ids are missing or repeated/,
    ],
    ['a uid that is too long', { ...dashboard, uid: 'a'.repeat(41) }, /uid/],
  ])('find %s', (_, broken, message) => {
    expect(lint(broken).bad.join('\n')).toMatch(message);
  });

  it('warn of a fixed window and of a panel without a description', () => {
    expect(lint(withQuery(`sum(increase(agui_eval_closings_total${scope}[6h]))`)).warnings).toHaveLength(1);
    expect(lint(withPanel({ description: ' ' })).warnings).toHaveLength(1);
  });
});
