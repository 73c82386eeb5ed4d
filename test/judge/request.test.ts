import { describe, expect, it } from 'vitest';
import { createOpenAiJudge } from '../../src/judge/openai-judge.ts';
import { FREE, question, setUp } from './questions.ts';

describe('a question to an endpoint', () => {
  it('is answered with the validated value', async () => {
    await using bench = await setUp({ scripts: { berth: FREE } });
    await expect(bench.ask()).resolves.toEqual(FREE);
  });

  it('sends model, messages and the strict schema, and nothing else', async () => {
    await using bench = await setUp({ scripts: { berth: FREE } });
    await bench.ask();
    expect(bench.server.requests[0]?.body).toEqual({
      model: 'keeper-1',
      messages: question.messages,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'berth',
          strict: true,
          schema: {
            type: 'object',
            properties: { berth: { type: 'string' }, free: { type: 'boolean' } },
            required: ['berth', 'free'],
            additionalProperties: false,
          },
        },
      },
    });
  });

  it('carries the key as a bearer token', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, apiKey: 'sk-harbour' }, { apiKey: 'sk-harbour' });
    await expect(bench.ask()).resolves.toEqual(FREE);
  });

  it('carries no authorization when there is no key', async () => {
    await using bench = await setUp({ scripts: { berth: FREE } });
    await bench.ask();
    expect(bench.server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('reports the call with tokens, model, id and times', async () => {
    await using bench = await setUp({
      scripts: {
        berth: () => {
          bench.pass(250);
          return { value: FREE };
        },
      },
    });
    await bench.ask();
    expect(bench.calls).toEqual([
      {
        schemaName: 'berth',
        outcome: 'success',
        model: 'keeper-1',
        responseModel: 'scripted-judge-1',
        responseId: 'chatcmpl-1',
        format: 'json_schema',
        inputTokens: 120,
        outputTokens: 9,
        startedAt: 1_700_000_000_000,
        endedAt: 1_700_000_000_250,
      },
    ]);
  });

  it('leaves out token counts that make no sense', async () => {
    await using bench = await setUp({
      scripts: { berth: [{ text: JSON.stringify(FREE), usage: { prompt_tokens: -1, completion_tokens: 'many' } }] },
    });
    await bench.ask();
    expect(bench.calls[0]).not.toHaveProperty('inputTokens');
    expect(bench.calls[0]).not.toHaveProperty('outputTokens');
  });

  it('names host and port of the endpoint', async () => {
    await using bench = await setUp({});
    expect(bench.judge.endpoint).toEqual({ host: '127.0.0.1', port: Number(new URL(bench.server.baseUrl).port) });
    await using hosted = createOpenAiJudge({ model: 'm', baseUrl: 'https://judge.example/v1' });
    expect(hosted.endpoint).toEqual({ host: 'judge.example', port: 443 });
  });
});

describe('an option out of range', () => {
  it.each([
    { concurrency: 0 },
    { concurrency: 1.5 },
    { retries: -1 },
    { timeoutMs: 0 },
    { timeoutMs: Number.NaN },
    { timeoutMs: 2 ** 31 },
  ])('is refused: %o', (options) => {
    expect(() => createOpenAiJudge({ model: 'm', baseUrl: 'http://localhost/v1', ...options })).toThrow(RangeError);
  });
});
