import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../commands/command.ts';
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
    throw unusable(directory, 'a directory was expected that can be made or opened', error);
  });
  const answers = new Map(
    parseLines(answersPath, await readIfPresent(answersPath), answerLine).map(({ key, value }) => [key, value]),
  );
  const alreadyPending = await readIfPresent(pendingPath);
  const pending = new Set(parseLines(pendingPath, alreadyPending, pendingLine).map(({ key }) => key));
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
    if (systemCode(error) === 'ENOENT') return '';
    throw unusable(path, 'a readable file was expected', error);
  }
}

function parseLines<T>(path: string, text: string, schema: z.ZodType<T>): readonly T[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw new UsageError(`${path}, line ${index + 1}: not JSON; one JSON object per line was expected`);
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return [parsed.data];
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the line'}: ${issue.message}`);
    throw new UsageError(`${path}, line ${index + 1}: ${faults.join('; ')}`);
  });
}

function unusable(path: string, expected: string, error: unknown): UsageError {
  return new UsageError(`${path}: ${expected} (${systemCode(error) ?? String(error)})`, { cause: error });
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
