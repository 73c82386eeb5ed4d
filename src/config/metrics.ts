import type { AgentReading } from './agents.ts';
import type { MetricConfig } from './config.ts';
import { readEntries } from './metric-entries.ts';
import type { MetricCatalog, MetricEntry } from './metric-entries.ts';
import { topicsUse } from './metric-params.ts';
import type { Origin, Report } from './problem.ts';
import type { Tree } from './tree.ts';

const DEFAULT_METRICS = new Set(['agent_goal_accuracy', 'topic_adherence']);

/** What each agent is judged by, and what was asked for. */
export interface MetricsReading {
  /** In the order of the agents. */
  readonly byAgent: readonly (readonly MetricConfig[])[];
  /** The entries as they were written, names or objects. */
  readonly asked: { readonly value: readonly unknown[]; readonly origin: Origin };
}

/**
 * Reads `metrics` and works out what each agent is judged by, in one place: an entry goes to every agent; one that wants
 * topics and brings none takes the agent's; one that cannot do without skips an agent that has none.
 */
export function readMetrics(
  given: Tree | undefined,
  agents: readonly AgentReading[],
  catalog: MetricCatalog,
  report: Report,
): MetricsReading {
  const asked = given !== undefined && !(given.kind === 'scalar' && given.text === null);
  const entries = asked ? readEntries(given, catalog, report) : defaultEntries(catalog);
  const someTopics = agents.some(({ topics }) => topics.value.length > 0);
  for (const entry of entries) {
    if (asked && agents.length > 0 && !someTopics && wanted(entry) === 'required') {
      report({
        setting: entry.path,
        origin: entry.origin,
        given: `${entry.metric.name} without topics`,
        expected: 'reference_topics on the entry or on an agent',
        remedy: 'For a single agent, set REFERENCE_TOPICS.',
      });
    }
  }
  return {
    byAgent: agents.map(({ topics }) => entries.flatMap((entry) => metricFor(entry, topics.value))),
    asked: {
      value: entries.map(({ metric: { name }, params }) =>
        Object.keys(params).length === 0 ? name : { name, ...params },
      ),
      origin: asked ? given.origin : { kind: 'default' },
    },
  };
}

function metricFor(entry: MetricEntry, agentTopics: readonly string[]): readonly MetricConfig[] {
  const need = wanted(entry);
  if (need === 'required' && agentTopics.length === 0) return [];
  const taken = need !== 'none' && agentTopics.length > 0;
  const params = taken ? { ...entry.params, reference_topics: agentTopics } : entry.params;
  const parsed = entry.metric.params.safeParse(params);
  return parsed.success ? [{ name: entry.metric.name, params: parsed.data }] : [];
}

/** What an entry wants of its agent's topics: nothing when it has its own. */
const wanted = ({ metric, params }: MetricEntry) =>
  params['reference_topics'] === undefined ? topicsUse(metric) : 'none';

function defaultEntries(catalog: MetricCatalog): readonly MetricEntry[] {
  return catalog
    .filter(({ name }) => DEFAULT_METRICS.has(name))
    .map((metric) => ({ path: 'metrics', origin: { kind: 'default' }, metric, params: {} }));
}
