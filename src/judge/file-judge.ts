import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../lib/error-code.ts';
import { formatLineProblems, readBySchema, readJsonLines } from '../lib/json-lines.ts';
import { unusablePath, UsageError } from '../lib/usage-error.ts';
import { strictJsonSchema } from './json-schema.ts';
import { JudgeError } from './judge.ts';
import type { AskOptions, Judge, JudgeCall, JudgeRequest } from './judge.ts';
import { readValue } from './reading.ts';

const MODEL = 'file';

const answerLine = z.object({ key: z.string(), value: z.json() });
const pendingLine = z.object({ key: z.string() });

/**
 * A judge whose answers are written by any reader: a question without an answer in `answers.jsonl` is appended once to
 * `pending.jsonl` and fails as `unanswered`.
 *
 * `pending.jsonl` holds `{key, schema, messages, json_schema}`: `schema` is the schema's name, `json_schema` the schema
 * itself. `answers.jsonl` holds `{key, value}`; of two lines with one key the later counts, so that an answer is
 * corrected by appending. An answer that cannot be used fails like a model's, but is not asked for again.
 *
 * @param directory made when it does not exist.
 * @param now epoch milliseconds.
 * @throws {UsageError} when the directory, or a line of its files, cannot be read.
 */
export async function openFileJudge(directory: string, now: () => number = Date.now): Promise<Judge & AsyncDisposable> {
  const answersPath = join(directory, 'answers.jsonl');
  const pendingPath = join(directory, 'pending.jsonl');
  await mkdir(directory, { recursive: true }).catch((error: unknown) => {
    throw unusablePath(directory, error, 'a directory that can be made or opened');
  });
  const answers = new Map(
    readLines(answersPath, await readIfPresent(answersPath), answerLine).map(({ key, value }) => [key, value]),
  );
  const alreadyPending = await readIfPresent(pendingPath);
  const pending = new Set(readLines(pendingPath, alreadyPending, pendingLine).map(({ key }) => key));
  let separator = alreadyPending === '' || alreadyPending.endsWith('\n') ? '' : '\n';
  let written = Promise.resolve();

  /** One line after the other, so that long ones do not run into each other. */
  function append(line: object): Promise<void> {
    const text = `${separator}${JSON.stringify(line)}\n`;
    separator = '';
    written = written.then(() => appendFile(pendingPath, text));
    return written;
  }

  return {
    model: MODEL,

    async ask<T>(request: JudgeRequest<T>, { signal, onCall }: AskOptions): Promise<T> {
      signal.throwIfAborted();
      const { schemaName, messages } = request;
      const key = questionKey(request);
      const startedAt = now();
      const report = (outcome: JudgeCall['outcome']): void =>
        onCall?.({ schemaName, outcome, model: MODEL, startedAt, endedAt: now() });

      const answer = answers.get(key);
      if (answer === undefined) {
        if (!pending.has(key)) {
          pending.add(key);
          await append({ key, schema: schemaName, messages, json_schema: strictJsonSchema(request.schema) });
        }
        report('unanswered');
        throw new JudgeError('unanswered', `${schemaName}: ${answersPath} has no answer for the key ${key}`);
      }
      const reading = readValue(answer, request);
      if (reading.kind === 'value') {
        report('success');
        return reading.value;
      }
      const { type, message } = reading.problem;
      report(type);
      throw new JudgeError(type, `${schemaName}: the answer for the key ${key} cannot be used: ${message}`);
    },

    async [Symbol.asyncDispose]() {
      await written;
    },
  };
}

/** The same question has the same key, whatever the model. */
function questionKey({ schemaName, messages }: Pick<JudgeRequest<unknown>, 'schemaName' | 'messages'>): string {
  const canonical = JSON.stringify([schemaName, messages.map(({ role, content }) => [role, content])]);
  return createHash('sha256').update(canonical).digest('hex');
}

async function readIfPresent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw unusablePath(path, error);
  }
}

function readLines<T>(path: string, text: string, schema: z.ZodType<T>): readonly T[] {
  const reading = readJsonLines(text, (value) => readBySchema(schema, value));
  if (reading.ok) return reading.rows;
  throw new UsageError(formatLineProblems(path, reading.problems));
}
