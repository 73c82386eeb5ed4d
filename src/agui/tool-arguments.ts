import type { ToolCall } from '../conversation/message.ts';
import { isJsonObject, JSON_CODE, type JsonObject, type JsonValue, parseJson } from '../lib/json.ts';
import { endOfString, JSON_PIECE_CHARACTERS, parsingJson } from '../lib/parse-json.ts';
import type { Steps } from '../lib/steps.ts';

/**
 * Deeper arguments stay text, or are left out: whoever serialised them again could exhaust the stack. Less than
 * `KEPT_LEVELS`, so what was left out of a long text is never taken for what was said.
 */
const MAX_DEPTH = 500;

/** The arguments that `text` stands for: an empty text is `{}`, anything that is not a JSON object stays text. */
export function parseToolArguments(text: string): ToolCall['args'] {
  if (text === '') return {};
  return argumentsOf(nestsTooDeep(text) ? undefined : parseJson(text), text);
}

/** The same in steps. */
export function* parsingToolArguments(text: string): Steps<ToolCall['args']> {
  if (text.length <= JSON_PIECE_CHARACTERS) return parseToolArguments(text);
  return argumentsOf(yield* parsingJson(text, { mostLevels: MAX_DEPTH }), text);
}

const argumentsOf = (value: JsonValue | undefined, text: string): ToolCall['args'] =>
  isJsonObject(value) ? value : { unparsed: text };

/** JSON that nests deeper than tool arguments may. */
export function nestsTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case JSON_CODE.quote:
        index = endOfString(text, index);
        break;
      case JSON_CODE.arrayStart:
      case JSON_CODE.objectStart:
        depth += 1;
        if (depth > MAX_DEPTH) return true;
        break;
      case JSON_CODE.arrayEnd:
      case JSON_CODE.objectEnd:
        depth -= 1;
        break;
      default:
    }
  }
  return false;
}

/** Arguments that came as a value; undefined when that is no object, or nests too deep. */
export function readArguments(value: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  let level: readonly JsonValue[] = [value];
  for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
    level = level.flatMap(membersOf).filter((member) => typeof member === 'object' && member !== null);
    if (level.length === 0) return value;
  }
  return undefined;
}

const membersOf = (value: JsonValue): readonly JsonValue[] =>
  Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
