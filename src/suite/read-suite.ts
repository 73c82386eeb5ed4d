import { z } from 'zod';
import { MessageFormatError } from '../conversation/message-fields.ts';
import type { Message } from '../conversation/message.ts';
import { readMessages } from '../conversation/read-messages.ts';
import { readBySchema, readJsonLines, type RowsReading } from '../lib/json-lines.ts';
import { describeJson } from '../lib/json.ts';

/** A subject that a person found in the conversation. */
export interface LabelledTopic {
  readonly topic: string;
  readonly on_topic: boolean;
  readonly refused: boolean;
  /** The user message that first raises it, counted from 1. */
  readonly turn: number;
  /** Words of that message. */
  readonly quote: string;
}

/** A conversation with a person's verdicts on it. Tags and labels are never shown to a judge. */
export interface SuiteRow {
  readonly id: string;
  readonly tags: readonly string[];
  readonly referenceTopics: readonly string[];
  readonly messages: readonly Message[];
  readonly goal: 0 | 1 | 'not_applicable';
  readonly goalReason: string;
  readonly topics: readonly LabelledTopic[];
}

const suiteRow = z.object({
  id: z.string().min(1),
  tags: z.array(z.string()).default([]),
  reference_topics: z.array(z.string().min(1)).min(1),
  messages: z.array(z.json()),
  labels: z.object({
    goal: z.literal([0, 1, 'not_applicable']),
    goal_why: z.string().default(''),
    topics: z.array(
      z.object({
        topic: z.string(),
        on_topic: z.boolean(),
        refused: z.boolean(),
        turn: z.int().min(1),
        quote: z.string().min(1),
      }),
    ),
  }),
});

/** Reads a labelled suite, JSON lines as docs/metrics.md describes them. */
export function readSuite(text: string): RowsReading<SuiteRow> {
  const lineOf = new Map<string, number>();
  return readJsonLines(text, (value, line) => {
    const parsed = readBySchema(suiteRow, value);
    if (!parsed.ok) return parsed;
    const { id, tags, reference_topics: referenceTopics, labels } = parsed.row;
    const earlier = lineOf.get(id);
    if (earlier !== undefined) {
      const message = `${describeJson(id)} is the id of line ${earlier} too; give each conversation its own`;
      return { ok: false, problems: [{ field: 'id', message }] };
    }
    lineOf.set(id, line);
    let messages: readonly Message[];
    try {
      messages = readMessages(parsed.row.messages);
    } catch (error) {
      if (!(error instanceof MessageFormatError)) throw error;
      return { ok: false, problems: [{ field: '', message: error.message }] };
    }
    const problems = labels.topics.flatMap(({ turn, quote }, index) => {
      const message = messages[turn - 1];
      if (message?.role === 'user' && message.text.includes(quote)) return [];
      const field = `labels.topics.${index}.quote`;
      return [{ field, message: `does not stand in turn ${turn}, or that is not a user's turn` }];
    });
    if (problems.length > 0) return { ok: false, problems };
    const { goal, goal_why: goalReason, topics } = labels;
    return { ok: true, row: { id, tags, referenceTopics, messages, goal, goalReason, topics } };
  });
}
