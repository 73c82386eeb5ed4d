import type { JsonObject } from '../lib/json.ts';
import type { JudgeMessage } from './judge.ts';

/** The ways to ask for an answer of a given shape, best first (metrics.md section 1). */
export const REPLY_FORMATS = ['json_schema', 'tool', 'json'] as const;

export type ReplyFormat = (typeof REPLY_FORMATS)[number];

/** The part of a chat-completions request that carries the question, in the endpoint's own names. */
export interface FormattedQuestion {
  readonly messages: readonly JudgeMessage[];
  readonly response_format?: JsonObject;
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: JsonObject;
}

/** Puts a question in `format`. `schema` is JSON Schema. */
export function formatQuestion(
  format: ReplyFormat,
  schemaName: string,
  schema: JsonObject,
  messages: readonly JudgeMessage[],
): FormattedQuestion {
  switch (format) {
    case 'json_schema':
      return {
        messages,
        response_format: { type: 'json_schema', json_schema: { name: schemaName, strict: true, schema } },
      };
    case 'tool':
      return {
        messages,
        tools: [
          { type: 'function', function: { name: schemaName, description: 'Takes the answer.', parameters: schema } },
        ],
        tool_choice: { type: 'function', function: { name: schemaName } },
      };
    case 'json':
      return { messages: withSchemaInPrompt(schemaName, schema, messages), response_format: { type: 'json_object' } };
  }
}

/**
 * JSON mode promises JSON, not a shape: the prompt must carry it. It goes where instructions stand, away from the
 * transcript that is judged, and into the one system message there is, since some models take no second.
 */
function withSchemaInPrompt(
  schemaName: string,
  schema: JsonObject,
  messages: readonly JudgeMessage[],
): readonly JudgeMessage[] {
  const instruction = `Answer with one JSON object that fits this JSON Schema, and with nothing else.
Schema: ${schemaName}
${JSON.stringify(schema)}`;
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: instruction }, ...messages];
  return [{ role: 'system', content: `${first.content}\n\n${instruction}` }, ...rest];
}
