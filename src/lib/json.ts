/** Any value that `JSON.parse` can return. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** True for a JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value that `text` stands for, or undefined when it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  // What tryQuietly does, without its calls: most texts are the smallest of events.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The characters that structure JSON, by their code. */
export const JSON_CODE = {
  quote: 0x22,
  comma: 0x2c,
  backslash: 0x5c,
  arrayStart: 0x5b,
  arrayEnd: 0x5d,
  objectStart: 0x7b,
  objectEnd: 0x7d,
} as const;

/** The white space of JSON. */
export const isJsonSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

const LONGEST_SHOWN = 60;

/** A value in an error message, to stand after "given": short, and recognisable. */
export function describeJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (isJsonObject(value)) return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'no members'}`;
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
