import { NO_AGENT, readAgents } from './agents.ts';
import type { AgentReading } from './agents.ts';
import type { Config } from './config.ts';
import { assemble } from './config.ts';
import { reportContradictions } from './contradictions.ts';
import { readMetrics } from './metrics.ts';
import type { MetricsReading } from './metrics.ts';
import type { MetricCatalog } from './metric-entries.ts';
import type { Problem, Report } from './problem.ts';
import { readSetting, reportUnknownKeys } from './read-setting.ts';
import type { Reading, Readings } from './read-setting.ts';
import { LIST_SETTINGS, SETTINGS } from './schema.ts';
import type { Setting } from './schema.ts';
import { gather } from './sources.ts';
import type { Sources } from './sources.ts';
import type { Tree } from './tree.ts';
import { showKind, valueAt } from './tree.ts';

export type ConfigResult =
  | { readonly ok: true; readonly config: Config; readonly found: Found }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** What is in force as it was written, and where: for people, not for the parts of the sidecar. */
export interface Found {
  readonly settings: Readings;
  readonly agents: readonly AgentReading[];
  readonly metrics: MetricsReading['asked'];
}

/**
 * What the configuration is for. `judge`: a command without a proxy; no agent is required, and the environment's names
 * for a single agent are not read.
 */
export type Purpose = 'sidecar' | 'judge';

/** Reads a configuration. Either every setting is valid, or every problem is listed and nothing applies. */
export function resolveConfig(sources: Sources, catalog: MetricCatalog, purpose: Purpose = 'sidecar'): ConfigResult {
  const problems: Problem[] = [];
  const report: Report = (problem) => void problems.push(problem);

  const { tree, complete } = gather(sources, { singleAgent: purpose === 'sidecar' }, report);
  reportUnknownSettings(tree, report);
  const settings = readSettings(tree, report);
  const problemsBeforeAgents = problems.length;
  const agents = readAgents(valueAt(tree, ['agents']), report);
  const noneAtAll = agents.length === 0 && problems.length === problemsBeforeAgents;
  if (noneAtAll && complete && purpose === 'sidecar') report(NO_AGENT);
  const metrics = readMetrics(valueAt(tree, ['metrics']), agents, catalog, report);
  reportContradictions(settings, agents, report);
  if (problems.length > 0) return { ok: false, problems };

  return {
    ok: true,
    config: assemble(settings, agents, metrics.byAgent),
    found: { settings, agents, metrics: metrics.asked },
  };
}

function readSettings(tree: Tree, report: Report): Readings {
  const readings = Object.fromEntries(
    Object.entries<Setting>(SETTINGS).map(([key, setting]) => [
      key,
      readSetting(setting, key, valueAt(tree, key.split('.')), report),
    ]),
  );
  if (!areReadings(readings)) throw new Error('Not every setting was read.');
  return readings;
}

/** Each value was read by the type that the table gives its key, so that all keys mean all types. */
function areReadings(readings: Readonly<Record<string, Reading<unknown>>>): readings is Readings {
  return Object.keys(SETTINGS).every((key) => key in readings);
}

function reportUnknownSettings(tree: Tree, report: Report): void {
  if (tree.kind !== 'section') return;
  const keys = Object.keys(SETTINGS);
  const topLevel = [...new Set(['agents', ...keys.map((key) => key.split('.')[0] ?? key), 'metrics'])];
  reportUnknownKeys(tree, { path: '', known: topLevel, elsewhere: keys }, report);
  for (const [name, section] of tree.entries) {
    const known = keys.filter((key) => key.startsWith(`${name}.`)).map((key) => key.slice(name.length + 1));
    if (known.length === 0 || name in LIST_SETTINGS) continue;
    if (section.kind === 'section') {
      reportUnknownKeys(section, { path: name, known, elsewhere: keys }, report);
    } else if (section.kind === 'list' || section.text !== null) {
      const expected = `a section with ${known.join(', ')}`;
      report({ setting: name, origin: section.origin, given: showKind(section), expected });
    }
  }
}
