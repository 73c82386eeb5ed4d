import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import { onlineMetrics } from './metric-entries.ts';
import type { MetricCatalog } from './metric-entries.ts';
import { AGENT_SETTINGS, LIST_SETTINGS, SETTINGS } from './schema.ts';
import type { Setting } from './schema.ts';
import { plainValue } from './value-types.ts';

const VARIABLE: JsonObject = { type: 'string', pattern: String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}` };
const TEXTS: JsonObject = { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] };
const TOPICS: JsonObject = { description: LIST_SETTINGS['agents[].reference_topics'].help, ...TEXTS };
const TOOLS: JsonObject = { description: LIST_SETTINGS['agents[].tools'].help, ...TEXTS };

/** JSON Schema (2020-12) of the configuration file, for editors. It knows no cross-checks: `check` does. */
export function configJsonSchema(catalog: MetricCatalog): JsonObject {
  const sections: Record<string, Record<string, JsonObject>> = {};
  const topLevel: Record<string, JsonObject> = {};
  for (const [key, setting] of Object.entries<Setting>(SETTINGS)) {
    const [section, name] = key.split('.');
    if (section === undefined || name === undefined) topLevel[key] = property(setting);
    else sections[section] = { ...sections[section], [name]: property(setting) };
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of agui-sidecar',
    ...closed({
      agents: { description: LIST_SETTINGS.agents.help, type: 'array', items: agentSchema() },
      ...Object.fromEntries(Object.entries(sections).map(([name, properties]) => [name, closed(properties)])),
      ...topLevel,
      metrics: metricsSchema(catalog),
    }),
  };
}

function agentSchema(): JsonObject {
  const settings = Object.entries<Setting>(AGENT_SETTINGS).map(([key, setting]): [string, JsonObject] => [
    key,
    property(setting),
  ]);
  return { ...closed({ ...Object.fromEntries(settings), reference_topics: TOPICS, tools: TOOLS }), required: ['url'] };
}

function metricsSchema(catalog: MetricCatalog): JsonObject {
  const metrics = onlineMetrics(catalog);
  const entries = metrics.map(({ name, params }) => {
    const { properties } = z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' });
    const own = Object.fromEntries(
      Object.entries(properties ?? {}).flatMap(([key, schema]) => (isJsonObject(schema) ? [[key, schema]] : [])),
    );
    const topics = 'reference_topics' in own && { reference_topics: TOPICS };
    return { ...closed({ name: { const: name }, ...own, ...topics }), required: ['name'] };
  });
  const name: JsonObject = { enum: metrics.map((metric) => metric.name) };
  return {
    description: LIST_SETTINGS.metrics.help,
    anyOf: [{ type: 'array', minItems: 1, items: { anyOf: [name, ...entries] } }, { type: 'string' }],
  };
}

function property({ help, type, default: written }: Setting): JsonObject {
  return {
    description: help,
    ...(written !== undefined && { default: plainValue(written, type.reads.parse(written)) }),
    anyOf: [type.editor, VARIABLE],
  };
}

const closed = (properties: Readonly<Record<string, JsonObject>>): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  properties,
});
