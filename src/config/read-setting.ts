import { MASK } from '../lib/mask-urls.ts';
import { nearest } from './nearest.ts';
import type { Origin, Report } from './problem.ts';
import { showGiven } from './redact.ts';
import type { Setting, Values } from './schema.ts';
import type { Scalar, Section, Tree } from './tree.ts';
import { showKind } from './tree.ts';

/** A setting as it was found. */
export interface Reading<T> {
  /** Undefined: unset, or not valid and reported. */
  readonly value: T | undefined;
  /** As written; null when unset. */
  readonly text: string | null;
  readonly origin: Origin;
}

/** Every setting as it was found, by key. */
export type Readings = { readonly [K in keyof Values]: Reading<Values[K]> };

/** Reads one setting, its default standing in for what is not given. A value that does not fit is reported. */
export function readSetting(setting: Setting, path: string, given: Tree | undefined, report: Report): Reading<unknown> {
  const origin = given?.origin ?? { kind: 'default' };
  const { expected } = setting.type;
  if (given && given.kind !== 'scalar') {
    report({ setting: path, origin, given: showKind(given), expected });
    return { value: undefined, text: null, origin };
  }
  if (given?.missing && !(given.vanished && setting.default === undefined)) {
    reportMissingVariables(given, path, expected, report);
    return { value: undefined, text: null, origin };
  }
  const text = given?.vanished ? null : (given?.text ?? null);
  if (text === null) {
    if (setting.default === undefined) return { value: undefined, text, origin: { kind: 'default' } };
    return { value: setting.type.reads.parse(setting.default), text: setting.default, origin: { kind: 'default' } };
  }
  if (setting.secret && text === MASK) {
    report({ setting: path, origin, given: 'the mask that stands for it in print', expected: 'the secret itself' });
    return { value: undefined, text, origin };
  }
  const parsed = setting.type.reads.safeParse(text);
  if (!parsed.success) report({ setting: path, origin, given: showGiven(text, setting), expected });
  return { value: parsed.data, text, origin };
}

/** Reads a list of texts, or one text with commas. Undefined: not given, or not valid and reported. */
export function readTexts(path: string, given: Tree | undefined, report: Report): readonly string[] | undefined {
  if (given === undefined) return undefined;
  if (given.kind === 'scalar') {
    if (given.missing && !given.vanished) reportMissingVariables(given, path, 'texts', report);
    if (given.text === null || given.missing) return undefined;
    return given.text.split(',').flatMap((part) => part.trim() || []);
  }
  const items = given.kind === 'list' ? given.items : [given];
  return items.flatMap((item, index) => {
    if (item.kind === 'scalar' && item.text && !item.missing) return item.text;
    if (item.kind === 'scalar' && item.missing) reportMissingVariables(item, `${path}[${index}]`, 'text', report);
    else report({ setting: path, origin: item.origin, given: showKind(item), expected: 'a list of texts' });
    return [];
  });
}

export function reportMissingVariables(given: Scalar, path: string, expected: string, report: Report): void {
  const names = (given.missing ?? []).map((name) => `\${${name}}`).join(' and ');
  report({
    setting: path,
    origin: given.origin,
    given: `${names}, which is not set`,
    expected,
    remedy: 'Set the variable, or give a fallback as in ${NAME:-value}.',
  });
}

/**
 * Reports every key of a section that is not known. Its value is not shown: it may be a secret under a misspelt name.
 *
 * @param elsewhere keys of other sections, tried when no known key is near.
 */
export function reportUnknownKeys(
  section: Section,
  { path, known, elsewhere = [] }: { path: string; known: readonly string[]; elsewhere?: readonly string[] },
  report: Report,
): void {
  for (const [key, { origin }] of section.entries) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known) ?? elsewhere.find((other) => other.endsWith(`.${key}`));
    report({
      setting: path === '' ? key : `${path}.${key}`,
      origin,
      given: 'an unknown setting',
      expected: `one of ${known.join(', ')}`,
      ...(meant !== undefined && { remedy: `Did you mean ${meant}?` }),
    });
  }
}
