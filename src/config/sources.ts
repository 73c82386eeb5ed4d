import type { Report } from './problem.ts';
import { AGENT_SETTINGS, LIST_SETTINGS, SETTINGS } from './schema.ts';
import type { Scalar, Section, Tree } from './tree.ts';
import { showKind, valueAt, withValueAt } from './tree.ts';
import { readYaml } from './yaml.ts';

/** Where a configuration comes from, weakest first: file, environment, `--set`. */
export interface Sources {
  readonly file?: ConfigFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `a.b=c`, as given on the command line. */
  readonly sets: readonly string[];
}

/** `unreadable`: the code of the error with which reading it failed. */
type ConfigFile = { readonly path: string } & ({ readonly text: string } | { readonly unreadable: string });

export interface Gathered {
  readonly tree: Tree;
  /** False: the file's values are missing, because it could not be read. */
  readonly complete: boolean;
}

export interface GatherOptions {
  /** Whether the environment's names for a single agent are read. */
  readonly singleAgent: boolean;
}

const EMPTY: Section = { kind: 'section', entries: new Map(), origin: { kind: 'default' } };
const LIST_PATH = /^(?:agents|metrics)$|^agents\.\d+\.tools$|\.reference_topics$/;

const ENVIRONMENT_NAMES = [...Object.entries(SETTINGS), ...Object.entries(LIST_SETTINGS)].filter(
  ([key]) => !key.includes('[]'),
);
const SINGLE_AGENT_NAMES: readonly (readonly [string, { readonly env: string }])[] = [
  ...Object.entries(AGENT_SETTINGS),
  ['reference_topics', LIST_SETTINGS['agents[].reference_topics']],
  ['tools', LIST_SETTINGS['agents[].tools']],
];

/** Lays the sources over each other, the stronger value in place of the weaker one, each with where it came from. */
export function gather({ file, env, sets }: Sources, { singleAgent }: GatherOptions, report: Report): Gathered {
  const fromFile = file && readConfigFile(file, env, report);
  let tree: Tree = fromFile ?? EMPTY;
  for (const [key, { env: name }] of ENVIRONMENT_NAMES) overlayEnv(key.split('.'), name);
  for (const [key, { env: name }] of singleAgent ? SINGLE_AGENT_NAMES : []) overlaySingleAgent(key, name);
  for (const set of sets) overlaySet(set);
  return { tree, complete: file === undefined || fromFile !== undefined };

  function overlayEnv(path: readonly string[], name: string): void {
    // Set but empty is unset, as for every OTEL_* variable.
    const text = env[name]?.trim();
    if (!text) return;
    const value = readText(path.join('.'), { kind: 'scalar', text, origin: { kind: 'env', name } }, report);
    if (value) tree = withValueAt(tree, path, value) ?? tree;
  }

  /** The names for a single agent go to the only agent of the list, or make it. */
  function overlaySingleAgent(key: string, name: string): void {
    const agents = valueAt(tree, ['agents']);
    if (agents?.kind !== 'list' || agents.items.length <= 1) {
      overlayEnv(['agents', '0', key], name);
      return;
    }
    if (!env[name]?.trim()) return;
    report({
      setting: 'agents',
      origin: { kind: 'env', name },
      given: `${name} beside a list of ${agents.items.length} agents`,
      expected: 'it only where there is a single agent',
      remedy: `Unset ${name}, or use --set agents.0.${key}=….`,
    });
  }

  function overlaySet(set: string): void {
    const separator = set.indexOf('=');
    const key = separator === -1 ? set : set.slice(0, separator).trim();
    const origin = { kind: 'set', key } as const;
    if (separator === -1 || key === '') {
      report({ setting: '', origin, given: 'no value', expected: 'a.b=c, as in --set listen.port=8081' });
      return;
    }
    const path = key.replace(/\[(\d+)\]/g, '.$1').split('.');
    const text = set.slice(separator + 1).trim();
    const value = readText(path.join('.'), { kind: 'scalar', text: text === '' ? null : text, origin }, report);
    if (value === undefined) return;
    const replaced = withValueAt(tree, path, value);
    if (replaced) tree = replaced;
    else
      report({
        setting: '',
        origin,
        given: 'a place that does not exist',
        expected: 'an existing one or the next of a list',
      });
  }
}

function readConfigFile(file: ConfigFile, variables: Sources['env'], report: Report): Section | undefined {
  const { path } = file;
  if ('text' in file) {
    const tree = readYaml({ text: file.text, originAt: (line) => ({ kind: 'file', path, line }), variables }, report);
    if (tree === undefined || tree.kind === 'section') return tree;
    if (tree.kind === 'scalar' && tree.text === null) return EMPTY;
    const expected = 'a section with keys, such as "listen: { port: 8080 }"';
    report({ setting: '', origin: tree.origin, given: showKind(tree), expected });
    return undefined;
  }
  const given = `a file that cannot be read (${file.unreadable})`;
  report({ setting: '', origin: { kind: 'file', path }, given, expected: 'a readable YAML file' });
  return undefined;
}

/** Outside the file a list may be given as YAML or JSON in one line. */
function readText(path: string, value: Scalar, report: Report): Tree | undefined {
  if (!LIST_PATH.test(path) || !value.text?.startsWith('[')) return value;
  return readYaml({ text: value.text, originAt: () => value.origin, variables: {} }, report);
}
