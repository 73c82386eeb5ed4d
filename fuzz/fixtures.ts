import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { StreamFormat } from '../src/agui/read-stream.ts';
import { isJsonObject, type JsonValue, parseJson } from '../src/lib/json.ts';
import { SHARED_FIXTURES } from '../test/support/shared.ts';
import { textOf } from './input.ts';

/** The body of a response as a server sent it. */
export interface RecordedBody {
  readonly format: StreamFormat;
  /** One character a byte. */
  readonly body: string;
  /** What was asked, when that was recorded too. */
  readonly request?: JsonValue;
}

const OWN = new URL('../test/fixtures/agui/', import.meta.url);
const FORMATS: ReadonlyMap<string, StreamFormat> = new Map([
  ['sse', 'sse'],
  ['pb', 'protobuf'],
  ['jsonl', 'jsonl'],
]);

/** Bodies of the project's own fixtures, and of the captures of real servers where they are at hand. */
export function recordedBodies(): RecordedBody[] {
  return [OWN, new URL('captures/', SHARED_FIXTURES)].filter(existsSync).flatMap((folder) =>
    readdirSync(folder).flatMap((file) => {
      const format = FORMATS.get(file.slice(file.lastIndexOf('.') + 1));
      if (!format) return [];
      const request = requestBeside(folder, file);
      return [{ format, body: textOf(readFileSync(new URL(file, folder))), ...(request !== undefined && { request }) }];
    }),
  );
}

function requestBeside(folder: URL, file: string): JsonValue | undefined {
  const name = file.slice(0, file.lastIndexOf('.'));
  const own = readJson(new URL(`${name}.request.json`, folder));
  if (own !== undefined) return own;
  const meta = readJson(new URL(`${name}.meta.json`, folder));
  return isJsonObject(meta) && isJsonObject(meta.request) ? meta.request.body : undefined;
}

/** Lists of events: the conformance streams and the collector's, where they are at hand. */
export function recordedEvents(): (readonly JsonValue[])[] {
  const conformance = ['streams', 'streams-1.0', 'streams-draft'].flatMap((name) => {
    const folder = new URL(`agui-conformance/${name}/`, SHARED_FIXTURES);
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
    return files.map((file) => memberOf(readJson(new URL(file, folder)), 'stream'));
  });
  const collector = ['designed', 'random'].flatMap((name) => {
    const cases = readJson(new URL(`collector/${name}.json`, SHARED_FIXTURES));
    return Array.isArray(cases) ? cases.map((made: JsonValue) => memberOf(made, 'events')) : [];
  });
  const own = readFileSync(new URL('berth.jsonl', OWN), 'utf8')
    .trim()
    .split('\n')
    .map((line) => parseJson(line) ?? null);
  return [own, ...[...conformance, ...collector].filter(Array.isArray)];
}

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) ? value[name] : undefined;

const readJson = (url: URL): JsonValue | undefined =>
  existsSync(url) ? parseJson(readFileSync(url, 'utf8')) : undefined;
