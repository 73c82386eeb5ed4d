import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/lib/usage-error.ts';
import { openFileJudge } from '../../src/judge/file-judge.ts';
import type { Judge, JudgeCall, JudgeRequest } from '../../src/judge/judge.ts';
import { FREE, outcomes, question, type Berth } from './questions.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'file-judge-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const signal = new AbortController().signal;
const ask = (judge: Judge, request: JudgeRequest<Berth> = question) => judge.ask(request, { signal });
const other: JudgeRequest<Berth> = { ...question, messages: [{ role: 'user', content: 'And B2?' }] };

async function pending(): Promise<{ key: string; [member: string]: unknown }[]> {
  const text = await readFile(join(directory, 'pending.jsonl'), 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const writeAnswers = (...lines: readonly unknown[]) =>
  writeFile(
    join(directory, 'answers.jsonl'),
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );

/** The key under which `request` is pending. */
async function keyOf(request: JudgeRequest<Berth> = question): Promise<string> {
  await using judge = await openFileJudge(directory);
  await ask(judge, request).catch(() => undefined);
  return (await pending()).at(-1)?.key ?? '';
}

describe('a question without an answer', () => {
  it('fails as unanswered and is written down with all a reader needs', async () => {
    await using judge = await openFileJudge(directory);
    await expect(ask(judge)).rejects.toMatchObject({ name: 'JudgeError', type: 'unanswered' });
    await expect(pending()).resolves.toEqual([
      {
        key: expect.stringMatching(/^[0-9a-f]{64}$/),
        schema: 'berth',
        messages: question.messages,
        json_schema: expect.objectContaining({ required: ['berth', 'free'] }),
      },
    ]);
  });

  it('is written down once, within a run and over runs', async () => {
    for (let run = 0; run < 2; run += 1) {
      await using judge = await openFileJudge(directory);
      await Promise.allSettled([ask(judge), ask(judge), ask(judge, other)]);
    }
    await expect(pending()).resolves.toHaveLength(2);
  });

  it('starts a line of its own after a last line without an end', async () => {
    const key = await keyOf();
    const path = join(directory, 'pending.jsonl');
    await writeFile(path, (await readFile(path, 'utf8')).trimEnd());
    expect(await keyOf(other)).not.toBe(key);
    await expect(pending()).resolves.toHaveLength(2);
  });

  it('makes the directory', async () => {
    directory = join(directory, 'new', 'one');
    await expect(keyOf()).resolves.toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('a question with an answer', () => {
  it('gets it', async () => {
    await writeAnswers({ key: await keyOf(), value: FREE });
    await using judge = await openFileJudge(directory);
    await expect(ask(judge)).resolves.toEqual(FREE);
  });

  it('has one key, whatever stands in its schema or in the order of its messages’ members', async () => {
    const key = await keyOf();
    const messages = question.messages.map(({ role, content }) => ({ content, role }));
    await rm(join(directory, 'pending.jsonl'));
    await expect(keyOf({ ...question, messages })).resolves.toBe(key);
    await expect(keyOf({ ...question, schemaName: 'berths' })).resolves.not.toBe(key);
    await expect(keyOf(other)).resolves.not.toBe(key);
  });

  it('gets the later of two', async () => {
    const key = await keyOf();
    await writeAnswers({ key, value: { ...FREE, free: false } }, '', { key, value: FREE });
    await using judge = await openFileJudge(directory);
    await expect(ask(judge)).resolves.toEqual(FREE);
  });

  it('fails when it does not fit, naming the key, and is not asked again', async () => {
    const key = await keyOf();
    await writeAnswers({ key, value: { berth: 'A4' } });
    await using judge = await openFileJudge(directory);
    await expect(ask(judge)).rejects.toMatchObject({ type: 'malformed', message: expect.stringContaining(key) });
    await expect(pending()).resolves.toHaveLength(1);
  });

  it('fails with the type of the check that it does not pass', async () => {
    await writeAnswers({ key: await keyOf(), value: FREE });
    await using judge = await openFileJudge(directory);
    const check = () => ({ type: 'ungrounded', message: 'nobody said so' }) as const;
    await expect(ask(judge, { ...question, check })).rejects.toMatchObject({ type: 'ungrounded' });
  });
});

it('reports every question as a call', async () => {
  await writeAnswers({ key: await keyOf(), value: FREE });
  await using judge = await openFileJudge(directory, () => 5);
  const calls: JudgeCall[] = [];
  const options = { signal, onCall: (call: JudgeCall) => calls.push(call) };
  await judge.ask(question, options);
  await judge.ask(other, options).catch(() => undefined);
  expect(outcomes(calls)).toEqual(['success', 'unanswered']);
  expect(calls[0]).toEqual({ schemaName: 'berth', outcome: 'success', model: 'file', startedAt: 5, endedAt: 5 });
});

it('rejects with the reason of an aborted signal', async () => {
  await using judge = await openFileJudge(directory);
  const reason = new Error('given up');
  await expect(judge.ask(question, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

describe('files that cannot be read', () => {
  it.each([
    ['text', 'not JSON', 'line 2: not JSON'],
    ['no value', { key: 'k' }, 'line 2: value: '],
    ['no key', { value: 1 }, 'line 2: key: '],
    ['a list', [], 'line 2: given an empty list, expected an object'],
  ])('names the line that holds %s', async (_, line, message) => {
    await writeAnswers({ key: 'k', value: FREE }, line);
    const opened = openFileJudge(directory);
    await expect(opened).rejects.toThrow(UsageError);
    await expect(opened).rejects.toThrow(`${join(directory, 'answers.jsonl')} has a fault:\n  ${message}`);
  });

  it('names a directory that is a file', async () => {
    const path = join(directory, 'file');
    await writeFile(path, '');
    await expect(openFileJudge(path)).rejects.toThrow(UsageError);
  });
});
