import { isJsonObject, type JsonObject, type JsonValue } from '../src/lib/json.ts';

/** Bytes as a text of one character a byte. */
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** The bytes that such a text, or whatever a mutation put in its place, stands for. */
export const bytesOf = (value: JsonValue | undefined): Buffer =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value ?? ''), 'latin1');

export const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

export const fieldsOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** The value when it is one of `known`, else the first of them. */
export const oneOf = <Known extends string>(value: JsonValue | undefined, known: readonly [Known, ...Known[]]): Known =>
  known.find((each) => each === value) ?? known[0];

/** An integer in [min, max], whatever is given. */
export function integerOf(value: JsonValue | undefined, min: number, max: number): number {
  return typeof value === 'number' ? Math.min(max, Math.max(min, Math.trunc(value))) : min;
}

/** A piece is pushed at a cost of its own: more of them say nothing new. */
const MAX_PIECES = 2000;

/** Cuts bytes into pieces of the given lengths, over and over; whole when there are none. */
export function cut(bytes: Uint8Array, lengths: JsonValue | undefined): Uint8Array[] {
  const sizes = listOf(lengths).map((length) => integerOf(length, 1, 100_000));
  if (sizes.length === 0 || bytes.length === 0) return [bytes];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = pieces.length < MAX_PIECES ? (sizes[pieces.length % sizes.length] ?? 1) : bytes.length;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
