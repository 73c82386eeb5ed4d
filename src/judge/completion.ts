import { z } from 'zod';

/** A chat completion, reduced to what a judgement needs of it. */
export interface Completion {
  readonly kind: 'completion';
  /** The arguments of the function call when the answer came as one, else the message's content. */
  readonly text: string;
  /** `cut`: the output limit was reached. `refused`: the model or its content filter gave no answer. */
  readonly end: 'whole' | 'cut' | 'refused';
  readonly model?: string;
  readonly id?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

const LONGEST_NAME = 200;

/** What an endpoint reports beside the answer is optional, and dropped when it is not what it should be. */
const name = z
  .string()
  .transform((text) => text.slice(0, LONGEST_NAME))
  .optional()
  .catch(undefined);
const tokens = z.int().nonnegative().optional().catch(undefined);

const wireCompletion = z.object({
  id: name,
  model: name,
  choices: z.tuple(
    [
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(z.object({ function: z.object({ arguments: z.string() }) }))
            .nullish()
            .catch(undefined),
        }),
      }),
    ],
    z.unknown(),
  ),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish().catch(undefined),
});

/** Reads the body of a successful response; undefined when it is no chat completion. */
export function readCompletion(body: unknown): Completion | undefined {
  const parsed = wireCompletion.safeParse(body);
  if (!parsed.success) return undefined;
  const { id, model, usage, choices } = parsed.data;
  const { message, finish_reason: finish } = choices[0];
  const refused = finish === 'content_filter' || (message.refusal ?? '') !== '';
  return {
    kind: 'completion',
    text: message.tool_calls?.[0]?.function.arguments ?? message.content ?? '',
    end: refused ? 'refused' : finish === 'length' ? 'cut' : 'whole',
    ...(id === undefined ? {} : { id }),
    ...(model === undefined ? {} : { model }),
    ...(usage?.prompt_tokens === undefined ? {} : { inputTokens: usage.prompt_tokens }),
    ...(usage?.completion_tokens === undefined ? {} : { outputTokens: usage.completion_tokens }),
  };
}
