import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';

/**
 * The JSON Schema that a judge is shown for `schema`: every object closed and every property required, as strict
 * structured output demands, and nothing in it that does not help a judge to answer.
 */
export function strictJsonSchema(schema: z.ZodType): JsonObject {
  const generated = z.toJSONSchema(schema, {
    target: 'draft-7',
    override({ jsonSchema: node }) {
      if (node.type === 'object' && node.properties !== undefined) {
        node.additionalProperties = false;
        node.required = Object.keys(node.properties);
      }
      // zod bounds every integer by what a double holds exactly: true, but noise to a judge.
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    },
  });
  const { $schema: _dialect, ...rest } = toJson(generated);
  return rest;
}

/** zod attaches functions to what it generates; a round trip leaves the plain JSON. */
function toJson(generated: object): JsonObject {
  const value: JsonValue = JSON.parse(JSON.stringify(generated));
  if (!isJsonObject(value)) throw new TypeError('a judge schema must be an object');
  return value;
}
