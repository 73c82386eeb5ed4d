import type { Origin } from './problem.ts';

/**
 * Given values before they are understood, each with where it came from. Values stay text: what they mean is the
 * business of the setting that reads them.
 */
export type Tree = Scalar | List | Section;

export interface Scalar {
  readonly kind: 'scalar';
  /** Null: written, but left empty. */
  readonly text: string | null;
  readonly origin: Origin;
  /** Variables named in the text as `${NAME}` that are not set. */
  readonly missing?: readonly string[];
  /** The text is nothing but one `${NAME}` without a value: an optional setting takes this as unset. */
  readonly vanished?: true;
}

interface List {
  readonly kind: 'list';
  readonly items: readonly Tree[];
  readonly origin: Origin;
}

export interface Section {
  readonly kind: 'section';
  readonly entries: ReadonlyMap<string, Tree>;
  readonly origin: Origin;
}

/** The value at a path of keys and list positions; undefined when there is none. */
export function valueAt(tree: Tree | undefined, path: readonly string[]): Tree | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  if (tree?.kind === 'section') return valueAt(tree.entries.get(key), rest);
  if (tree?.kind === 'list') return /^\d+$/.test(key) ? valueAt(tree.items[Number(key)], rest) : undefined;
  return undefined;
}

/**
 * The tree with one value replaced or added; sections and list entries on the way to it are made when there are none.
 * A list grows by its next position only; any other position gives undefined.
 */
export function withValueAt(tree: Tree | undefined, path: readonly string[], value: Tree): Tree | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (tree?.kind === 'list' || (tree?.kind !== 'section' && /^\d+$/.test(key))) {
    const items = tree?.kind === 'list' ? tree.items : [];
    const position = /^\d+$/.test(key) ? Number(key) : Infinity;
    if (position > items.length) return undefined;
    const item = withValueAt(items[position], rest, value);
    return item && { kind: 'list', items: items.toSpliced(position, 1, item), origin: tree?.origin ?? value.origin };
  }
  const entries = tree?.kind === 'section' ? tree.entries : new Map<string, Tree>();
  const entry = withValueAt(entries.get(key), rest, value);
  if (entry === undefined) return undefined;
  return { kind: 'section', entries: new Map([...entries, [key, entry]]), origin: tree?.origin ?? value.origin };
}

/** Completes the sentence "given …" for a value whose kind is wrong. Its content is not shown: it may be a secret. */
export function showKind(tree: Tree): string {
  if (tree.kind === 'list') return 'a list';
  if (tree.kind === 'section') return 'a section with keys';
  return tree.text === null ? 'nothing' : 'a single value';
}
