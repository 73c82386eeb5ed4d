import { expect, it } from 'vitest';
import { z } from 'zod';
import { strictJsonSchema } from '../../src/judge/json-schema.ts';

it('closes every object, requires every property and keeps what helps to answer', () => {
  const schema = z.object({
    topics: z.array(
      z.object({
        topic: z.string().describe('a few words'),
        turn: z.int(),
        share: z.number().min(0).max(1),
        note: z.string().optional(),
      }),
    ),
    verdict: z.enum(['0', '1']),
  });
  expect(strictJsonSchema(schema)).toEqual({
    type: 'object',
    properties: {
      topics: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            topic: { type: 'string', description: 'a few words' },
            turn: { type: 'integer' },
            share: { type: 'number', minimum: 0, maximum: 1 },
            note: { type: 'string' },
          },
          required: ['topic', 'turn', 'share', 'note'],
          additionalProperties: false,
        },
      },
      verdict: { type: 'string', enum: ['0', '1'] },
    },
    required: ['topics', 'verdict'],
    additionalProperties: false,
  });
});
