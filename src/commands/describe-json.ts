/**
 * Where `text` is no JSON, and what stands there, to follow the file's name: at which line and column, counted from 1.
 * Undefined when it is JSON.
 */
export function describeBrokenJson(text: string): string | undefined {
  const at = breakOf(text);
  if (at === undefined) return undefined;
  const before = text.slice(0, at).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
  if (at === text.length) return `it ends at ${place}, in the midst of its JSON`;
  const rest = text.slice(at, at + MAX_QUOTED);
  return `${place} is no JSON: ${JSON.stringify(at + MAX_QUOTED < text.length ? `${rest}…` : rest)}`;
}

const MAX_QUOTED = 40;

const BLANKS = /[ \t\r\n]*/y;
// Piece by piece: one pattern for a whole string would exhaust the stack on a long one.
const STRING_PIECE = /[ !#-[\]-\uFFFF]+|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;
const OTHER_SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/** What may come next; behind a bracket that was just opened, also its closing. */
type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'end';

/**
 * Index at which a reader of JSON (RFC 8259) gives up; the length when the text ends too early. The engine's own message
 * says the place only sometimes.
 */
function breakOf(text: string): number | undefined {
  const closers: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length ?? 0;
    at += length;
    return length > 0;
  };
  /** False where the string breaks. */
  const skipString = (): boolean => {
    at += 1;
    while (skip(STRING_PIECE));
    if (text[at] !== '"') return false;
    at += 1;
    return true;
  };

  for (;;) {
    skip(BLANKS);
    const character = text[at];
    if (expected === 'end' && closers.length === 0) return character === undefined ? undefined : at;
    const isValue: boolean = expected === 'value' || expected === 'first value';
    const isName: boolean = expected === 'name' || expected === 'first name';
    const mayClose: boolean = expected === 'end' || expected === 'first value' || expected === 'first name';
    if (mayClose && closers.length > 0 && character === closers.at(-1)) {
      closers.pop();
      expected = 'end';
      at += 1;
    } else if (expected === 'end' && character === ',') {
      expected = closers.at(-1) === '}' ? 'name' : 'value';
      at += 1;
    } else if (expected === 'colon' && character === ':') {
      expected = 'value';
      at += 1;
    } else if (isValue && (character === '{' || character === '[')) {
      closers.push(character === '{' ? '}' : ']');
      expected = character === '{' ? 'first name' : 'first value';
      at += 1;
    } else if ((isValue || isName) && character === '"') {
      if (!skipString()) return at;
      expected = isName ? 'colon' : 'end';
    } else if (isValue && skip(OTHER_SCALAR)) expected = 'end';
    else return at;
  }
}
