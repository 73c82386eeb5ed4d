import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JudgeRequest } from '../../src/judge/judge.ts';
import { FREE, outcomes, question, setUp, type Berth } from './questions.ts';

const GOOD = JSON.stringify(FREE);
const named = (berth: string): string => JSON.stringify({ ...FREE, berth });

describe('a reply that is the answer in some wrapping', () => {
  it.each([
    ['a code fence', `\`\`\`json\n${GOOD}\n\`\`\``],
    ['a code fence without a language', `\`\`\`\n${GOOD}\n\`\`\`\n`],
    ['blanks', `\n  ${GOOD}\n`],
    ['reasoning in front', `<think>Is A4 free? {"free": false}</think>\n${GOOD}`],
  ])('is read: %s', async (_, text) => {
    await using bench = await setUp({ scripts: { berth: [{ text }] } });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(bench.server.requests).toHaveLength(1);
  });
});

describe('a reply that cannot be used', () => {
  it('is put back once with what was wrong', async () => {
    await using bench = await setUp({ scripts: { berth: [{ text: '{"berth": "A4"}' }, { value: FREE }] } });
    await expect(bench.ask()).resolves.toEqual(FREE);
    const [, second] = bench.server.requests;
    expect(second?.messages.slice(0, 2)).toEqual(question.messages);
    expect(second?.messages[2]).toEqual({ role: 'assistant', content: '{"berth": "A4"}' });
    expect(second?.messages[3]?.role).toBe('user');
    expect(second?.messages[3]?.content).toContain('free: Invalid input: expected boolean');
    expect(second?.messages[3]?.content).toContain('"required":["berth","free"]');
    expect(outcomes(bench.calls)).toEqual(['malformed', 'success']);
  });

  it.each([
    ['prose', 'Yes, A4 is free.'],
    ['prose around JSON', `Here it is: ${GOOD}`],
    ['nothing', ''],
    ['JSON cut short', GOOD.slice(0, -4)],
    ['the wrong type', '{"berth": "A4", "free": "perhaps"}'],
    ['a list', '[]'],
  ])('fails as malformed after one repair attempt: %s', async (_, text) => {
    await using bench = await setUp({ scripts: { berth: () => ({ text }) } });
    await expect(bench.fail()).resolves.toMatchObject({ name: 'JudgeError', type: 'malformed' });
    expect(outcomes(bench.calls)).toEqual(['malformed', 'malformed']);
  });

  it('leaves no empty message in the repair when the reply was empty', async () => {
    await using bench = await setUp({ scripts: { berth: [{ text: '' }, { value: FREE }] } });
    await bench.ask();
    expect(bench.server.requests[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
  });

  it('fails at once when no repair is wanted', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ text: 'Yes.' }) } });
    await expect(bench.fail({ ...question, repair: false })).resolves.toMatchObject({ type: 'malformed' });
    expect(bench.server.requests).toHaveLength(1);
  });

  it('never shows in the error what the judge or the conversation said', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ text: 'The Albatross may have A4.' }) } });
    const error = await bench.fail();
    expect(error.message).toBe('berth: the reply cannot be used: it is not JSON');
    expect(error.cause).toBeUndefined();
  });

  it('keeps the error short however many faults a reply has', async () => {
    const fields = Array.from({ length: 200 }, (_, index) => [`field_${index}`, z.string()]);
    const schema = z.object(Object.fromEntries(fields)) as unknown as JudgeRequest<Berth>['schema'];
    await using bench = await setUp({ scripts: { berth: () => ({ text: '{}' }) } });
    const error = await bench.fail({ ...question, schema });
    expect(error.message.length).toBeLessThan(600);
  });
});

describe('a check beyond the schema', () => {
  const onlyA: JudgeRequest<Berth> = {
    ...question,
    check: ({ berth }) =>
      berth.startsWith('A') ? undefined : { type: 'out_of_range', message: 'berths are named A1 to A9' },
  };

  it('is put to the judge once', async () => {
    await using bench = await setUp({ scripts: { berth: [{ text: named('B1') }, { value: FREE }] } });
    await expect(bench.ask(onlyA)).resolves.toEqual(FREE);
    expect(bench.server.requests[1]?.messages.at(-1)?.content).toContain('berths are named A1 to A9');
    expect(outcomes(bench.calls)).toEqual(['out_of_range', 'success']);
  });

  it('then fails the question with its own type', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ text: named('B1') }) } });
    await expect(bench.fail(onlyA)).resolves.toMatchObject({
      type: 'out_of_range',
      message: 'berth: the reply cannot be used: berths are named A1 to A9',
    });
    expect(outcomes(bench.calls)).toEqual(['out_of_range', 'out_of_range']);
  });
});

it('reads more than it asks for when told how', async () => {
  const lenient = z.object({ berth: z.string(), free: z.union([z.boolean(), z.literal('yes').transform(() => true)]) });
  await using bench = await setUp({ scripts: { berth: [{ text: '{"berth": "A4", "free": "yes"}' }] } });
  await expect(bench.ask({ ...question, read: lenient })).resolves.toEqual(FREE);
  expect(bench.server.requests[0]?.body).toHaveProperty(
    ['response_format', 'json_schema', 'schema', 'properties', 'free'],
    { type: 'boolean' },
  );
});

describe('a reply without an answer', () => {
  it('fails as refused when the model refuses, and is not asked again', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ refusal: 'I cannot help with berths.' }) } });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'refused' });
    expect(outcomes(bench.calls)).toEqual(['refused']);
  });

  it('fails as refused when a content filter cut it', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ text: '', finish: 'content_filter' }) } });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'refused' });
  });

  it('fails as truncated when it reached the output limit, even where it happens to be whole', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ text: GOOD, finish: 'length' }) } });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'output_truncated' });
    expect(outcomes(bench.calls)).toEqual(['output_truncated', 'output_truncated']);
  });

  it('is repaired when a second, shorter reply fits', async () => {
    await using bench = await setUp({ scripts: { berth: [{ text: '{"ber', finish: 'length' }, { value: FREE }] } });
    await expect(bench.ask()).resolves.toEqual(FREE);
  });
});

describe('a success that is no chat completion', () => {
  it.each([
    ['a web page', { raw: '<!doctype html><title>Harbour</title>', contentType: 'text/html' }],
    ['broken JSON', { raw: '{"choices": [', contentType: 'application/json' }],
    ['no choices', { raw: '{"choices": []}', contentType: 'application/json' }],
    ['nothing', { raw: '', contentType: 'application/json' }],
    ['another shape', { raw: '{"response": "hello"}', contentType: 'application/json' }],
  ])('fails as malformed at once: %s', async (_, reply) => {
    await using bench = await setUp({ scripts: { berth: () => reply } });
    const error = await bench.fail();
    expect(error).toMatchObject({ type: 'malformed' });
    expect(error.message).toContain('check judge.base_url');
    expect(outcomes(bench.calls)).toEqual(['malformed']);
  });

  it('is read no further than a bound', async () => {
    const raw = JSON.stringify({ choices: [], padding: 'x'.repeat(5 * 1024 * 1024) });
    await using bench = await setUp({ scripts: { berth: () => ({ raw, contentType: 'application/json' }) } });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'malformed' });
  });

  it('counts as the failure that its body tells of', async () => {
    const raw = JSON.stringify({ error: { code: 502, message: 'provider is down' } });
    await using bench = await setUp({
      scripts: { berth: [{ raw, contentType: 'application/json' }, { value: FREE }] },
    });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(outcomes(bench.calls)).toEqual(['unavailable', 'success']);
  });
});
