import { isJsonObject, type JsonValue } from '../src/lib/json.ts';

/**
 * A smaller value that still fails, found by taking away whatever can be taken away.
 *
 * @param fails must be repeatable.
 * @param mayGoOn asked before each candidate: what is smallest at the end need not be the smallest there is.
 */
export async function shrink(
  value: JsonValue,
  fails: (candidate: JsonValue) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<JsonValue> {
  let best = value;
  const findSmaller = async (): Promise<boolean> => {
    for (const candidate of smaller(best)) {
      if (!mayGoOn()) return false;
      if (!(await fails(candidate))) continue;
      best = candidate;
      return true;
    }
    return false;
  };
  while (await findSmaller());
  return best;
}

/** The value with something taken away, the largest pieces first. */
function* smaller(value: JsonValue): Generator<JsonValue> {
  if (typeof value === 'string') {
    for (const [start, end] of pieces(value.length)) yield value.slice(0, start) + value.slice(end);
  } else if (typeof value === 'number') {
    if (value !== 0) yield 0;
  } else if (Array.isArray(value)) {
    const list: readonly JsonValue[] = value;
    for (const [start, end] of pieces(list.length)) yield list.toSpliced(start, end - start);
    for (const [at, item] of list.entries()) for (const less of smaller(item)) yield list.with(at, less);
  } else if (isJsonObject(value)) {
    const entries = Object.entries(value);
    for (const at of entries.keys()) yield Object.fromEntries(entries.toSpliced(at, 1));
    for (const [at, [key, item]] of entries.entries()) {
      for (const less of smaller(item)) yield Object.fromEntries(entries.with(at, [key, less]));
    }
  }
}

/** Half-open ranges of a length: halves, quarters, and so on down to one. */
function* pieces(length: number): Generator<[start: number, end: number]> {
  for (let size = length; size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < length; start += size) yield [start, Math.min(start + size, length)];
  }
}
