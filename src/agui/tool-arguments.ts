import type { ToolCall } from '../conversation/message.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../lib/json.ts';

/** Deeper arguments stay text, or are left out: whoever serialised them again could exhaust the stack. */
const MAX_DEPTH = 500;

/** The arguments that `text` stands for: an empty text is `{}`, anything that is not a JSON object stays text. */
export function parseToolArguments(text: string): ToolCall['args'] {
  if (text === '') return {};
  const value = nestsTooDeep(text) ? undefined : parseJson(text);
  return isJsonObject(value) ? value : { unparsed: text };
}

function nestsTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (character === '}' || character === ']') depth -= 1;
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
