import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isJsonObject, type JsonValue, parseJson } from '../src/lib/json.ts';

/** Every input that once failed, a folder for each target. Tests run them all again. */
const CORPUS = new URL('../test/fuzz/corpus/', import.meta.url);

interface CorpusEntry {
  readonly target: string;
  /** Its file's name. */
  readonly name: string;
  readonly input: JsonValue;
}

/** Writes an input that fails where the tests will find it; returns the file's path. */
export function saveFind(target: string, input: JsonValue, failure: string): string {
  const folder = new URL(`${target}/`, CORPUS);
  mkdirSync(folder, { recursive: true });
  const name = createHash('sha256').update(JSON.stringify(input)).digest('hex').slice(0, 12);
  const file = new URL(`${name}.json`, folder);
  const [headline = ''] = failure.split('\n');
  writeFileSync(file, `${JSON.stringify({ failure: headline.slice(0, 200), input })}\n`);
  return file.pathname;
}

/** All finds that were kept. */
export function readCorpus(): CorpusEntry[] {
  if (!existsSync(CORPUS)) return [];
  return readdirSync(CORPUS).flatMap((target) =>
    readdirSync(new URL(`${target}/`, CORPUS)).map((name) => {
      const entry = parseJson(readFileSync(new URL(`${target}/${name}`, CORPUS), 'utf8'));
      if (!isJsonObject(entry) || entry.input === undefined) throw new TypeError(`${target}/${name} holds no input`);
      return { target, name, input: entry.input };
    }),
  );
}
