import type { JsonObject } from '../lib/json.ts';
import type { JudgeMessage, ReplyProblem } from './judge.ts';

/** Longest part of a reply that is shown to its author again, in characters. */
const LONGEST_QUOTE = 8_000;

/**
 * The turns that give a judge its one chance to correct a reply: the reply, what is wrong with it, and the schema, which
 * an endpoint that ignores the reply format has never shown to the model.
 */
export function repairTurns(reply: string, problem: ReplyProblem, schema: JsonObject): readonly JudgeMessage[] {
  const request: JudgeMessage = {
    role: 'user',
    content: `That answer cannot be used: ${problem.message}. Answer the same question again, with one JSON object that fits this JSON Schema, and with nothing else.
${JSON.stringify(schema)}`,
  };
  // Some endpoints refuse a message without content.
  if (reply.trim() === '') return [request];
  return [{ role: 'assistant', content: reply.slice(0, LONGEST_QUOTE) }, request];
}
