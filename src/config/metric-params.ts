import { z } from 'zod';
import type { Metric } from '../metrics/metric.ts';
import { nearest } from './nearest.ts';
import type { Report } from './problem.ts';
import { readTexts, reportMissingVariables } from './read-setting.ts';
import { showGiven } from './redact.ts';
import type { Section, Tree } from './tree.ts';
import { showKind, valueAt } from './tree.ts';

/** Parameters of a metric as they were given: plain values, not yet accepted by its schema. */
export type GivenParams = Readonly<Record<string, unknown>>;

type Parameterised = Pick<Metric, 'params'>;

/** How a metric deals with topics: takes none, makes use of them, or cannot do without. */
export function topicsUse({ params }: Parameterised): 'none' | 'welcome' | 'required' {
  const { properties, required } = z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' });
  if (properties?.['reference_topics'] === undefined) return 'none';
  return required?.includes('reference_topics') ? 'required' : 'welcome';
}

/** Reads the parameters of one entry of `metrics` and reports all that the metric would not accept. */
export function readParams(section: Section, path: string, metric: Parameterised, report: Report): GivenParams {
  const params: Record<string, unknown> = {};
  for (const [key, value] of section.entries) {
    if (key === 'name') continue;
    const read = readParam(value, key, `${path}.${key}`, report);
    if (read !== undefined) params[key] = read;
  }
  reportFaults(params, section, path, metric, report);
  return params;
}

function readParam(value: Tree, key: string, path: string, report: Report): unknown {
  if (key === 'reference_topics') return readTexts(path, value, report);
  if (value.kind === 'scalar' && value.text === null) return undefined;
  if (value.kind !== 'scalar' || !value.missing) return toJs(value);
  reportMissingVariables(value, path, 'a value', report);
  return undefined;
}

function reportFaults(given: GivenParams, section: Section, path: string, metric: Parameterised, report: Report): void {
  const { properties } = z.toJSONSchema(metric.params, { io: 'input', unrepresentable: 'any' });
  const names = ['name', ...Object.keys(properties ?? {})];
  // Topics that are not given here may come from the agent, and must not hide other faults while they are missing.
  const params: Record<string, unknown> = {
    ...(topicsUse(metric) === 'required' && { reference_topics: ['any'] }),
    ...given,
  };
  // A schema may look at one parameter only when others are right, so those that failed are taken out until none does.
  const reported = new Set<string>();
  for (;;) {
    const faults = (metric.params.safeParse(params).error?.issues ?? []).flatMap(faultsOf);
    const fresh = faults.filter(({ key }) => !reported.has(key));
    if (fresh.length === 0) return;
    for (const { key, expected } of fresh) {
      const at = valueAt(section, [key]) ?? section;
      const meant = expected === undefined ? nearest(key, names) : undefined;
      report({
        setting: `${path}.${key}`,
        origin: at.origin,
        given: expected === undefined ? 'an unknown parameter' : showTree(at),
        expected: expected ?? `one of ${names.join(', ')}`,
        ...(meant !== undefined && { remedy: `Did you mean ${meant}?` }),
      });
      reported.add(key);
      delete params[key];
    }
  }
}

/** `expected` is absent for a parameter that the metric does not have. */
interface Fault {
  readonly key: string;
  readonly expected?: string;
}

function faultsOf(issue: z.core.$ZodIssue): readonly Fault[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ key }));
  return [{ key: String(issue.path[0]), expected: expectedBy(issue) }];
}

function expectedBy(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'invalid_type') return `a value of type ${issue.expected}`;
  if (issue.code === 'too_big') return `a value of at most ${issue.maximum}`;
  if (issue.code === 'too_small')
    return issue.origin === 'number' ? `a value of at least ${issue.minimum}` : 'a value that is not empty';
  return issue.message;
}

const showTree = (tree: Tree) => (tree.kind === 'scalar' && tree.text !== null ? showGiven(tree.text) : showKind(tree));

/** Plain values for a metric's schema; text that reads as a number or truth value becomes one. */
function toJs(tree: Tree): unknown {
  if (tree.kind === 'list') return tree.items.map(toJs);
  if (tree.kind === 'section') return Object.fromEntries([...tree.entries].map(([key, value]) => [key, toJs(value)]));
  if (tree.text === 'true' || tree.text === 'false') return tree.text === 'true';
  if (tree.text !== null && /^-?\d+(\.\d+)?$/.test(tree.text)) return Number(tree.text);
  return tree.text;
}
