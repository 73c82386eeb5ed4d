import type { Origin, Problem, Report } from './problem.ts';
import { readSetting, readTexts, reportUnknownKeys } from './read-setting.ts';
import type { Reading } from './read-setting.ts';
import { showGiven } from './redact.ts';
import { AGENT_SETTINGS } from './schema.ts';
import type { Section, Tree } from './tree.ts';
import { showKind } from './tree.ts';

/** One entry of `agents` as it was found; what is undefined was reported. */
export interface AgentReading {
  /** `agents[0]` */
  readonly path: string;
  readonly name: Reading<string>;
  readonly url: Reading<string>;
  readonly match: Reading<string>;
  readonly topics: TextsReading;
  readonly tools: TextsReading;
}

/** A list of texts as it was found; empty when none was given. */
interface TextsReading {
  readonly value: readonly string[];
  readonly origin: Origin;
}

const KEYS = [...Object.keys(AGENT_SETTINGS), 'reference_topics', 'tools'];

/** Reads the list of agents and checks that they can stand beside each other. */
export function readAgents(given: Tree | undefined, report: Report): readonly AgentReading[] {
  if (given === undefined || (given.kind === 'scalar' && given.text === null)) return [];
  if (given.kind !== 'list') {
    const expected = 'a list of agents, each with a url';
    report({ setting: 'agents', origin: given.origin, given: showKind(given), expected });
    return [];
  }
  const agents = given.items.flatMap((item, index) => {
    const path = `agents[${index}]`;
    if (item.kind === 'section') return readAgent(item, path, given.items.length === 1, report);
    const expected = `a section with ${KEYS.join(', ')}`;
    report({ setting: path, origin: item.origin, given: showKind(item), expected });
    return [];
  });
  reportDuplicates(agents, 'name', 'a name of its own for each agent', report);
  reportDuplicates(agents, 'match', 'a path prefix of its own for each agent', report);
  return agents;
}

/** What is wrong when there must be an agent and none was given. */
export const NO_AGENT: Problem = {
  setting: 'agents',
  origin: { kind: 'default' },
  given: 'none',
  expected: 'at least one agent',
  remedy: 'Set AGENT_URL to the address of your agent, or list agents in a file given with --config.',
};

function readAgent(given: Section, path: string, single: boolean, report: Report): AgentReading {
  reportUnknownKeys(given, { path, known: KEYS }, report);
  const read = (key: keyof typeof AGENT_SETTINGS): Reading<string> => {
    const { value, ...found } = readSetting(AGENT_SETTINGS[key], `${path}.${key}`, given.entries.get(key), report);
    return { ...found, value: typeof value === 'string' ? value : undefined };
  };
  const name = read('name');
  if (!single && name.origin.kind === 'default') {
    const expected = 'a name, since there are several agents';
    report({ setting: `${path}.name`, origin: given.origin, given: 'none', expected });
  }
  const url = read('url');
  if (url.text === null && url.origin.kind === 'default') {
    const { origin } = given;
    const expected = AGENT_SETTINGS.url.type.expected;
    // Another name for the single agent is set; it is not the one at fault.
    if (origin.kind === 'env') report({ ...NO_AGENT, given: `${origin.name} without AGENT_URL` });
    else report({ setting: `${path}.url`, origin, given: 'none', expected });
  }
  const match = read('match');
  const readList = (key: 'reference_topics' | 'tools'): TextsReading => {
    const list = given.entries.get(key);
    return {
      value: readTexts(`${path}.${key}`, list, report) ?? [],
      origin: list?.origin ?? { kind: 'default' },
    };
  };
  return {
    path,
    name: !single && name.origin.kind === 'default' ? { ...name, value: undefined } : name,
    url,
    match: match.value === undefined ? match : { ...match, value: withoutTrailingSlash(match.value) },
    topics: readList('reference_topics'),
    tools: readList('tools'),
  };
}

function reportDuplicates(agents: readonly AgentReading[], key: 'name' | 'match', expected: string, report: Report) {
  const first = new Map<string, string>();
  for (const { path, [key]: reading } of agents) {
    if (reading.value === undefined) continue;
    const other = first.get(reading.value);
    if (other === undefined) {
      first.set(reading.value, path);
      continue;
    }
    const given = `${showGiven(reading.value)}, which ${other} has too`;
    report({ setting: `${path}.${key}`, origin: reading.origin, given, expected });
  }
}

const withoutTrailingSlash = (match: string) => (match === '/' ? match : match.replace(/\/$/, ''));
