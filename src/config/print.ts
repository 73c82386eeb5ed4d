import { Document } from 'yaml';
import { MASK } from '../lib/mask-urls.ts';
import type { Config } from './config.ts';
import { formatOrigin } from './problem.ts';
import type { Origin } from './problem.ts';
import type { Reading } from './read-setting.ts';
import type { Found } from './resolve.ts';
import { SETTINGS } from './schema.ts';
import type { Setting } from './schema.ts';
import { plainValue } from './value-types.ts';

/**
 * The configuration in force as YAML: every setting, and in a comment where it came from. Secrets are masked. What each
 * agent is judged by stands before it, since `metrics` says that for all agents at once.
 */
export function printConfig(config: Config, { settings, agents, metrics }: Found): string {
  const document = new Document({});
  for (const [index, { name, url, match, topics, tools }] of agents.entries()) {
    set(['agents', index, 'name'], plain(name), name.origin);
    set(['agents', index, 'url'], plain(url), url.origin);
    set(['agents', index, 'match'], plain(match), match.origin);
    for (const [position, topic] of topics.value.entries()) {
      set(['agents', index, 'reference_topics', position], topic, topics.origin);
    }
    for (const [position, tool] of tools.value.entries()) {
      set(['agents', index, 'tools', position], tool, tools.origin);
    }
  }
  const readings: Readonly<Record<string, Reading<unknown>>> = settings;
  for (const [key, { secret }] of Object.entries<Setting>(SETTINGS)) {
    const reading = readings[key];
    if (reading) set(key.split('.'), secret && reading.text !== null ? MASK : plain(reading), reading.origin);
  }
  for (const [index, metric] of metrics.value.entries()) set(['metrics', index], metric, metrics.origin);
  document.commentBefore = ` ${describeJudging(config)}`;
  return document.toString();

  function set(path: readonly (string | number)[], value: unknown, origin: Origin): void {
    const node = document.createNode(value, { flow: true });
    if (node) node.comment = value === null ? ' not set' : ` ${formatOrigin(origin)}`;
    document.setIn(path, node);
  }
}

function describeJudging({ agents, judge }: Config): string {
  if (judge.kind === 'off')
    return 'Nothing is judged: there is neither a key (OPENAI_API_KEY) nor an endpoint (OPENAI_BASE_URL).';
  return agents
    .map(({ name, metrics }) => `${name} is judged by ${metrics.map((metric) => metric.name).join(', ')}.`)
    .join('\n ');
}

const plain = ({ text, value }: Reading<unknown>) => (text === null ? null : plainValue(text, value));
