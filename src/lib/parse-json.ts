import { isJsonObject, isJsonSpace, JSON_CODE, type JsonObject, type JsonValue, parseJson } from './json.ts';
import type { Steps } from './steps.ts';

/** Characters that are handed to `JSON.parse` at once: a fraction of a millisecond's worth, whatever they say. */
export const JSON_PIECE_CHARACTERS = 16 * 1024;

/**
 * Levels that are kept of a long text; a value below them may read as null. Nobody looks so far down, and a hundred thousand
 * levels cost the collector of garbage more than all else that is read.
 */
export const KEPT_LEVELS = 1000;

interface ParseOptions {
  /** Characters of a step, more or less. */
  readonly pieceCharacters?: number;
  /** Levels of a text of several pieces that are kept. */
  readonly keptLevels?: number;
  /** A text of several pieces that has more levels is refused, as one is that is no JSON. */
  readonly mostLevels?: number;
}

/**
 * What {@link parseJson} gives, in steps of some `pieceCharacters`. The text is looked through for its brackets only; what stands
 * between two cuts is left to `JSON.parse`. A long string is one piece.
 */
export function* parsingJson(
  text: string,
  { pieceCharacters = JSON_PIECE_CHARACTERS, keptLevels = KEPT_LEVELS, mostLevels = Infinity }: ParseOptions = {},
): Steps<JsonValue | undefined> {
  const start = skipSpace(text, 0);
  const first = text.charCodeAt(start);
  if (text.length <= pieceCharacters || !isOpening(first)) return parseJson(text);

  const tree = createTree(keptLevels);
  tree.open('', first);
  /** Where what is not in the tree yet begins. */
  let from = start + 1;
  /** Brackets behind it that nothing has closed. */
  let opened: number[] = [];
  let pieceEnd = start + pieceCharacters;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === JSON_CODE.quote) {
      const end = endOfString(text, at);
      const isLong = end - at > LONG_STRING_PIECES * pieceCharacters;
      at = end;
      // To find the end takes as long as to parse it.
      if (isLong) yield;
    } else if (isOpening(code)) {
      opened.push(at);
      if (tree.levels() + opened.length > mostLevels) return undefined;
    } else if (isClosing(code)) {
      if (opened.length > 0) opened.pop();
      else {
        if (!tree.close(text.slice(from, at), code)) return undefined;
        from = at + 1;
        if (tree.levels() === 0) return skipSpace(text, from) === text.length ? tree.root() : undefined;
      }
    } else if (code !== JSON_CODE.comma) continue;

    // A cut is made behind a bracket that opens something, or before a comma.
    if (at < pieceEnd || (opened.length === 0 && code !== JSON_CODE.comma)) continue;
    for (const bracket of opened) {
      if (!tree.open(text.slice(from, bracket), text.charCodeAt(bracket))) return undefined;
      from = bracket + 1;
    }
    opened = [];
    if (code === JSON_CODE.comma) {
      if (!tree.add(text.slice(from, at))) return undefined;
      from = at;
    }
    pieceEnd = at + pieceCharacters;
    yield;
  }
  return undefined;
}

/** Pieces that a string is worth when looking for its end is a step of its own. */
const LONG_STRING_PIECES = 4;

type Container = JsonValue[] | Record<string, JsonValue>;

/** Takes the text of one container after the other, each in pieces. All that take text are false when it is not JSON. */
interface Tree {
  /** Adds items or members of the innermost container: `text` ends before a comma. */
  add(text: string): boolean;
  /** The same, up to the bracket that opens a container in it. */
  open(text: string, bracket: number): boolean;
  /** The same, up to the bracket that closes it. */
  close(text: string, bracket: number): boolean;
  /** How many containers are open. */
  levels(): number;
  root(): JsonValue | undefined;
}

/** Text stands alone, goes on with another member, or goes on with a container. */
type End = 'close' | 'comma' | 'open';

function createTree(keptLevels: number): Tree {
  const path: Container[] = [];
  let root: Container | undefined;
  /** The innermost container has an item already, so that a comma must come before the next. */
  let hasItems = false;

  const take = (text: string, end: End): boolean => {
    const container = path.at(-1);
    if (container === undefined) return end === 'open';
    const isKept = path.length <= keptLevels;
    if (Array.isArray(container)) {
      const items = readItems(text, hasItems, end);
      if (items && isKept) for (const item of items) container.push(item);
      return items !== undefined;
    }
    const members = readMembers(text, hasItems, end);
    if (members && isKept) for (const name in members) setMember(container, name, members[name] ?? null);
    return members !== undefined;
  };

  return {
    add(text) {
      const isTaken = take(text, 'comma');
      hasItems = true;
      return isTaken;
    },
    open(text, bracket) {
      if (!take(text, 'open')) return false;
      const isKept = path.length < keptLevels;
      const isArray = bracket === JSON_CODE.arrayStart;
      const container: Container = isKept ? (isArray ? [] : {}) : isArray ? TOO_DEEP_ARRAY : TOO_DEEP_OBJECT;
      const parent = path.at(-1);
      if (path.length <= keptLevels) {
        const value = isKept ? container : null;
        if (Array.isArray(parent)) parent.push(value);
        else if (parent) setMember(parent, lastName(text), value);
      }
      root ??= container;
      path.push(container);
      hasItems = false;
      return true;
    },
    close(text, bracket) {
      if (Array.isArray(path.at(-1)) !== (bracket === JSON_CODE.arrayEnd) || !take(text, 'close')) return false;
      path.pop();
      hasItems = true;
      return true;
    },
    levels: () => path.length,
    root: () => root,
  };
}

/** Stand for all containers that are not kept. Nothing is ever put into them. */
const TOO_DEEP_ARRAY: JsonValue[] = [];
const TOO_DEEP_OBJECT: Record<string, JsonValue> = {};

/** Stands where text is cut off. No text before or behind it can make another value of it. */
const PLACEHOLDER = '""';

function readItems(text: string, hasItems: boolean, end: End): readonly JsonValue[] | undefined {
  // The most frequent by far where brackets stand close.
  if (text === '') return end === 'close' || hasItems === (end === 'comma') ? [] : undefined;
  const before = hasItems ? PLACEHOLDER : '';
  const after = { close: '', comma: `,${PLACEHOLDER}`, open: PLACEHOLDER }[end];
  const items = parseJson(`[${before}${text}${after}]`);
  if (!Array.isArray(items)) return undefined;
  return (items as readonly JsonValue[]).slice(hasItems ? 1 : 0, end === 'close' ? undefined : -1);
}

/** In the last of them, `end` being `open`, stands a placeholder. */
function readMembers(text: string, hasItems: boolean, end: End): JsonObject | undefined {
  let from = skipSpace(text, 0);
  if (hasItems) {
    if (from === text.length) return end === 'open' ? undefined : {};
    if (text.charCodeAt(from) !== JSON_CODE.comma) return undefined;
    from = skipSpace(text, from + 1);
    if (from === text.length) return undefined;
  } else if (from === text.length) return end === 'close' ? {} : undefined;
  const members = parseJson(`{${text.slice(from)}${end === 'open' ? PLACEHOLDER : ''}}`);
  return isJsonObject(members) ? members : undefined;
}

/** The name at the end of `"name": `, of text that is known to end so. */
function lastName(text: string): string {
  const close = text.lastIndexOf('"');
  let open = close - 1;
  while (text.charCodeAt(open) !== JSON_CODE.quote || isEscaped(text, open, 0)) open -= 1;
  const name = parseJson(text.slice(open, close + 1));
  return typeof name === 'string' ? name : '';
}

/** No escape may begin before `from` and reach beyond it. */
function isEscaped(text: string, at: number, from: number): boolean {
  let start = at;
  while (start > from && text.charCodeAt(start - 1) === JSON_CODE.backslash) start -= 1;
  return (at - start) % 2 === 1;
}

function setMember(object: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
}

/** Index of the quote that ends the string which begins at `at`; the end of the text when there is none. */
export function endOfString(text: string, at: number): number {
  let index = at + 1;
  while (index < text.length) {
    // Most strings are short, and one may be full of escapes: only what goes on without end is left to a search.
    const near = Math.min(index + 256, text.length);
    while (index < near) {
      const code = text.charCodeAt(index);
      if (code === JSON_CODE.quote) return index;
      index += code === JSON_CODE.backslash ? 2 : 1;
    }
    const quote = text.indexOf('"', index);
    if (quote < 0) break;
    if (!isEscaped(text, quote, index)) return quote;
    index = quote + 1;
  }
  return text.length;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isJsonSpace(text.charCodeAt(at))) at += 1;
  return at;
}

const isOpening = (code: number): boolean => code === JSON_CODE.arrayStart || code === JSON_CODE.objectStart;
const isClosing = (code: number): boolean => code === JSON_CODE.arrayEnd || code === JSON_CODE.objectEnd;
