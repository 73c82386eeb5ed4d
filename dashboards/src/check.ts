import { parseArgs } from 'node:util';
import { z } from 'zod';
import { DASHBOARDS } from './generate.ts';
import { allPanels, lint, promQueries } from './lint.ts';
import type { Dashboard } from './model.ts';

const USAGE = `node dashboards/src/check.ts [--prometheus URL]

Checks the dashboards' rules. With the address of a Prometheus that scrapes a sidecar, also runs every query there over
the last two minutes. Prints one JSON line a dashboard; exits with 1 when anything is bad.`;

interface CheckReport {
  readonly dashboard: string;
  readonly panels: number;
  /** Queries that Prometheus answered. */
  ran: number;
  /** Queries that brought no data. */
  empty: number;
  readonly bad: string[];
  readonly warn: string[];
}

async function check(dashboard: Dashboard, prometheus?: string): Promise<CheckReport> {
  const { bad, warnings } = lint(dashboard);
  const panels = allPanels(dashboard).length;
  const report: CheckReport = {
    dashboard: dashboard.uid,
    panels,
    ran: 0,
    empty: 0,
    bad: [...bad],
    warn: [...warnings],
  };
  if (prometheus === undefined) return report;

  const annotations = dashboard.annotations.list.map(({ name, expr }) => ({ where: `annotation “${name}”`, expr }));
  const queries = promQueries(dashboard).map(({ panel, target, expr }) => ({
    where: `panel “${panel}” ${target.refId}`,
    expr,
  }));
  for (const { where, expr } of [...queries, ...annotations]) {
    const answer = await run(prometheus, substitute(expr, dashboard));
    report.ran++;
    if (answer.kind === 'error') {
      report.bad.push(`${where}: ${answer.message}`);
    } else if (answer.series.length === 0) {
      report.empty++;
      report.warn.push(`${where}: no data`);
    } else if (answer.series.some((values) => values.every(([, value]) => value === 'NaN'))) {
      report.warn.push(`${where}: a series holds nothing but NaN`);
    }
  }
  return report;
}

/** Puts values in the place of variables, as Grafana would with everything chosen. */
function substitute(expr: string, { templating }: Dashboard): string {
  const values: Record<string, string> = { __rate_interval: '1m', __interval: '30s', __range: '5m', __range_s: '300' };
  for (const variable of templating.list) {
    if (variable.type === 'query') values[variable.name] = '.*';
    if (variable.type === 'interval') values[variable.name] = variable.current.value;
  }
  return expr.replaceAll(/\$\{?(\w+)\}?/g, (given, name: string) => values[name] ?? given);
}

type Answer =
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'series'; readonly series: readonly (readonly (readonly [number, string])[])[] };

/** What Prometheus' HTTP API answers to a range query. */
const queryAnswer = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('success'),
    data: z.object({ result: z.array(z.object({ values: z.array(z.tuple([z.number(), z.string()])) })) }),
  }),
  z.object({ status: z.literal('error'), error: z.string() }),
]);

async function run(prometheus: string, query: string): Promise<Answer> {
  const end = Math.floor(Date.now() / 1000);
  const url = new URL('/api/v1/query_range', prometheus);
  url.search = new URLSearchParams({ query, start: String(end - 120), end: String(end), step: '15' }).toString();
  const response = await fetch(url);
  const body = queryAnswer.parse(await response.json());
  return body.status === 'success'
    ? { kind: 'series', series: body.data.result.map(({ values }) => values) }
    : { kind: 'error', message: `${body.error} in ${query}` };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { prometheus: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
  } else {
    for (const dashboard of DASHBOARDS) {
      const report = await check(dashboard, values.prometheus);
      console.log(JSON.stringify(report));
      if (report.bad.length > 0) process.exitCode = 1;
    }
  }
}
