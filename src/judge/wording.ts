import type { JsonObject, JsonValue } from '../lib/json.ts';
import { strictJsonSchema } from './json-schema.ts';
import type { JudgeMessage, JudgeRequest, ReplyProblem } from './judge.ts';
import { CUT_OFF, readText } from './reading.ts';
import { repairTurns } from './repair.ts';
import { formatQuestion, REPLY_FORMATS } from './reply-format.ts';

/** What a judge is put around a question: the formats have words of their own with and without a system message. */
const AROUND: readonly (readonly JudgeMessage[])[] = [[], [{ role: 'system', content: '' }]];

/** Replies that are no answer, with our own words for what is wrong. Those of a schema's validation are the library's. */
const NO_ANSWERS = ['', 'prose'];

/** A request, as far as a judge can see it. */
export type ShownRequest = Omit<JudgeRequest<unknown>, 'check' | 'read'>;

/**
 * Everything that a judge can be shown for `request`: its messages, its schema in every format, and what a repair says of
 * a reply that cannot be used.
 *
 * @param problems what the request's own check can find.
 */
export function wordingOf(request: ShownRequest, problems: readonly ReplyProblem[] = []): JsonValue {
  const { schemaName, messages, repair } = request;
  const schema: JsonObject = strictJsonSchema(request.schema);
  const formats = AROUND.flatMap((around) =>
    REPLY_FORMATS.map((format) => formatQuestion(format, schemaName, schema, around)),
  );
  const found = NO_ANSWERS.flatMap((reply) => {
    const reading = readText(reply, request);
    return reading.kind === 'problem' ? [reading.problem] : [];
  });
  const repairs =
    repair === false ? [] : [CUT_OFF, ...found, ...problems].map((problem) => repairTurns('reply', problem, schema));
  const shown: JsonValue = JSON.parse(JSON.stringify({ schemaName, messages, formats, repairs }));
  return shown;
}
