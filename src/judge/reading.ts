import { z } from 'zod';
import type { JudgeRequest, ReplyProblem } from './judge.ts';

/** What a reply came to: the value asked for, or what is wrong with it. */
export type Reading<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: ReplyProblem };

/** The problem of a reply that ended at the output limit, whatever stands in it. */
export const CUT_OFF: ReplyProblem = {
  type: 'output_truncated',
  message: 'it was cut off at the output limit; be brief',
};

/** Longest problem that is reported, in characters. */
const LONGEST_PROBLEM = 500;

/** Reads the text of a reply as the answer to `request`. */
export function readText<T>(text: string, request: JudgeRequest<T>): Reading<T> {
  let value: unknown;
  try {
    value = JSON.parse(unwrap(text));
  } catch {
    // The parser's own message quotes the text, and with it the conversation.
    return problem('malformed', text.trim() === '' ? 'it is empty' : 'it is not JSON');
  }
  return readValue(value, request);
}

/** Validates a parsed reply: by its schema, then by the request's own check. */
export function readValue<T>(value: unknown, request: JudgeRequest<T>): Reading<T> {
  const parsed = (request.read ?? request.schema).safeParse(value);
  if (!parsed.success) {
    return problem('malformed', `it does not fit its schema: ${describe(parsed.error)}`);
  }
  const found = request.check?.(parsed.data);
  return found === undefined ? { kind: 'value', value: parsed.data } : problem(found.type, found.message);
}

/** One line, with no word of the reply beside its keys. */
function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${z.core.toDotPath(path) || 'the reply'}: ${message}`).join('; ');
}

function problem(type: ReplyProblem['type'], message: string): Reading<never> {
  const short = message.length > LONGEST_PROBLEM ? `${message.slice(0, LONGEST_PROBLEM)}…` : message;
  return { kind: 'problem', problem: { type, message: short } };
}

/** Takes off what models put around JSON when nothing stops them: their reasoning, and one code fence. */
function unwrap(text: string): string {
  const answer = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '').trim();
  return /^```[a-z]*\s*\n([\s\S]*?)\n?\s*```$/i.exec(answer)?.[1] ?? answer;
}
