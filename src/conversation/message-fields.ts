import { describeJson, isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';

/** Messages given by hand or by another tool that cannot be read. `message` names the place by its path. */
export class MessageFormatError extends Error {
  override readonly name = 'MessageFormatError';
}

/** The error for a value at `path` that is not what was expected there. */
export const unexpected = (path: string, given: JsonValue | undefined, expected: string): MessageFormatError =>
  new MessageFormatError(`${path}: given ${describeJson(given)}, expected ${expected}`);

/** The object at `path`. @throws {MessageFormatError} */
export function objectAt(value: JsonValue | undefined, path: string, expected = 'an object'): JsonObject {
  if (isJsonObject(value)) return value;
  throw unexpected(path, value, expected);
}

/** The list at `path`; nothing and null are an empty one. @throws {MessageFormatError} */
export function arrayAt(value: JsonValue | undefined, path: string): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw unexpected(path, value, 'a list');
}

/** The string at `path`. @throws {MessageFormatError} */
export function stringAt(value: JsonValue | undefined, path: string): string {
  if (typeof value === 'string') return value;
  throw unexpected(path, value, 'a string');
}

/** The string at `path`, absent when nothing or null stands there. @throws {MessageFormatError} */
export const optionalStringAt = (value: JsonValue | undefined, path: string): string | undefined =>
  value === undefined || value === null ? undefined : stringAt(value, path);
