import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Node } from 'yaml';
import type { Origin, Report } from './problem.ts';
import type { Scalar, Tree } from './tree.ts';

interface YamlSource {
  readonly text: string;
  /** Where a value at a line of the text was given. */
  readonly originAt: (line: number) => Origin;
  /** Values for `${NAME}`; empty means unset. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

interface Reference {
  readonly written: string;
  readonly name: string;
  readonly fallback: string | undefined;
}

// `${NAME}` holds characters that mean something in YAML (`{ token: ${TOKEN} }` would be a syntax error), and a value put
// in its place before parsing could change the structure. So references stand as private-use characters while YAML is
// parsed and are filled in afterwards.
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]*))?\}/g;
const PLACEHOLDER = /\uE000(\d+)\uE001/g;
const NOTHING_BUT_PLACEHOLDER = /^\uE000\d+\uE001$/;
const MAX_DEPTH = 16;

/** Reads YAML into a tree. Reports every fault; undefined when the text is too broken to have values. */
export function readYaml({ text, originAt, variables }: YamlSource, report: Report): Tree | undefined {
  const references: Reference[] = [];
  const prepared = quoteBareStore(text).replace(REFERENCE, (written: string, name: string, fallback?: string) => {
    references.push({ written, name, fallback });
    return `\uE000${references.length - 1}\uE001`;
  });
  const lines = new LineCounter();
  // Without prettyErrors: they quote the source, which may hold secrets.
  const document = parseDocument(prepared, { lineCounter: lines, prettyErrors: false });
  const originAtOffset = (offset: number) => originAt(lines.linePos(offset).line);

  const faults = [...document.errors, ...document.warnings];
  for (const { code, message, pos } of faults) {
    const given = code === 'DUPLICATE_KEY' ? 'a key that its section already has' : `a YAML fault (${message})`;
    report({ setting: '', origin: originAtOffset(pos[0]), given, expected: 'valid YAML' });
  }
  if (faults.some(({ code }) => code !== 'DUPLICATE_KEY')) return undefined;
  return convert(document.contents, 0, originAt(1));

  function convert(node: Node | null, depth: number, parentOrigin: Origin): Tree {
    const origin = node?.range ? originAtOffset(node.range[0]) : parentOrigin;
    const empty: Scalar = { kind: 'scalar', text: null, origin };
    if (depth > MAX_DEPTH) {
      const given = `more than ${MAX_DEPTH} levels`;
      report({ setting: '', origin, given, expected: 'values nested less deeply' });
      return empty;
    }
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target !== undefined) return convert(target, depth + 1, origin);
      report({ setting: '', origin, given: 'a YAML alias without its anchor', expected: 'valid YAML' });
      return empty;
    }
    if (isSeq<Node | null>(node)) {
      return { kind: 'list', items: node.items.map((item) => convert(item, depth + 1, origin)), origin };
    }
    if (isMap<Node, Node | null>(node)) {
      const entries = node.items.map(({ key, value }): [string, Tree] => {
        const keyOrigin = key.range ? originAtOffset(key.range[0]) : origin;
        return [isScalar(key) ? restore(String(key.value)) : '', convert(value, depth + 1, keyOrigin)];
      });
      return { kind: 'section', entries: new Map(entries), origin };
    }
    if (isScalar(node) && node.value !== null) return substitute(node.source ?? '', origin);
    return empty;
  }

  function restore(key: string): string {
    return key.replace(PLACEHOLDER, (held, index: string) => references[Number(index)]?.written ?? held);
  }

  function substitute(source: string, origin: Origin): Scalar {
    const missing: string[] = [];
    const filled = source.replace(PLACEHOLDER, (held, index: string) => {
      const reference = references[Number(index)];
      if (reference === undefined) return held;
      const value = variables[reference.name]?.trim() || reference.fallback;
      if (value === undefined) missing.push(reference.name);
      return value ?? reference.written;
    });
    const scalar: Scalar = { kind: 'scalar', text: filled.trim(), origin };
    if (missing.length === 0) return scalar;
    return { ...scalar, missing, ...(NOTHING_BUT_PLACEHOLDER.test(source.trim()) && { vanished: true }) };
  }
}

// The documented way to write the default store is no YAML scalar: a colon before a space begins a mapping.
function quoteBareStore(text: string): string {
  return text.replace(/^(\s*store:[ \t]+)(memory:)(?=[ \t]*(?:#.*)?$)/m, '$1"$2"');
}
