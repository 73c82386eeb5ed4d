import { describeJson, isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';

/** Messages given by hand or by another tool that cannot be read. `message` names the place by its path. */
export class MessageFormatError extends Error {
  override readonly name = 'MessageFormatError';
}

/** The error for a value at `path` that is not what was expected there. */
export const unexpected = (path: string, given: JsonValue | undefined, expected: string): MessageFormatError =>
  new MessageFormatError(`${path}: given ${describeJson(given)}, expected ${expected}`);

const isAbsent = (value: JsonValue | undefined): value is undefined | null => value === undefined || value === null;

/** Members that one form of messages has and the other calls by another name. */
const OTHER_NAMES = {
  own: { content: 'text', tool_calls: 'toolCalls', tool_call_id: 'toolCallId' },
  ragas: { text: 'content', toolCalls: 'tool_calls' },
} as const;

const FORMS = {
  own: 'our form has "role" and "text", the Ragas form "type" and "content"',
  ragas: 'the Ragas form has "type" and "content", our form "role" and "text"',
} as const;

/**
 * Refuses a message that mixes the two forms: of what it says under a name of the other form, nothing would be read.
 *
 * @throws {MessageFormatError}
 */
export function refuseOtherForm(row: JsonObject, path: string, form: keyof typeof OTHER_NAMES): void {
  for (const [other, ours] of Object.entries(OTHER_NAMES[form])) {
    const given = row[other];
    const saysNothing = isAbsent(given) || (Array.isArray(given) && given.length === 0);
    if (saysNothing || !isAbsent(row[ours])) continue;
    throw new MessageFormatError(
      `${path}.${other}: given ${describeJson(given)}, expected it under "${ours}": ${FORMS[form]}`,
    );
  }
}

/** The object at `path`. @throws {MessageFormatError} */
export function objectAt(value: JsonValue | undefined, path: string, expected = 'an object'): JsonObject {
  if (isJsonObject(value)) return value;
  throw unexpected(path, value, expected);
}

/** The list at `path`; nothing and null are an empty one. @throws {MessageFormatError} */
export function arrayAt(value: JsonValue | undefined, path: string): readonly JsonValue[] {
  if (isAbsent(value)) return [];
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
  isAbsent(value) ? undefined : stringAt(value, path);
