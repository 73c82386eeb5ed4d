import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import type { Folded } from '../agui/fold.ts';
import type { RunRequest } from '../agui/input.ts';
import type { StreamFormat } from '../agui/read-stream.ts';
import { describeJson, parseJson } from '../lib/json.ts';
import { paced } from '../lib/steps.ts';
import { unusablePath, UsageError } from '../lib/usage-error.ts';
import { type Command, type CommandIo, EXIT, type ExitStatus } from './command.ts';
import { parseArguments } from './parse-arguments.ts';

const FORMATS = ['sse', 'protobuf', 'jsonl'] as const satisfies readonly StreamFormat[];

const MEMBERS = ['messages', 'ragas', 'findings'] as const;

const HELP = `Usage: agui-sidecar collect [FILE] [--input REQUEST.json] [--format FORMAT] [--only MEMBER]

Reads a captured AG-UI stream from FILE, or from standard input, and prints one JSON document: its runs, the messages
it comes to, the same messages in the Ragas form, and what was repaired or noticed on the way.

Options:
  --input REQUEST.json  body of the request that the stream answers; its messages come first
  --format FORMAT       ${FORMATS.join(', ')}; without it, by the file's name: .pb is protobuf, .jsonl is jsonl, else sse
  --only MEMBER         print one member alone: ${MEMBERS.join(', ')}

Exit status: 0 with findings too; 1 when the input is not empty and holds no AG-UI event; 2 bad usage.

Example:
  curl -sN -H 'Content-Type: application/json' -H 'Accept: text/event-stream' -d @request.json $AGENT_URL |
    agui-sidecar collect --input request.json --only ragas
`;

const FORMAT_OF_EXTENSION: Readonly<Record<string, StreamFormat>> = {
  '.pb': 'protobuf',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
};

/** Prints what the collector makes of a captured stream. */
export const collect: Command = {
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArguments({
      args: [...args],
      allowPositionals: true,
      options: { input: { type: 'string' }, format: { type: 'string' }, only: { type: 'string' } },
    });
    if (positionals.length > 1)
      throw new UsageError(`collect takes one FILE, given ${positionals.length}. Try --help.`);
    const [file = '-'] = positionals;
    const format = oneOf('--format', values.format, FORMATS) ?? FORMAT_OF_EXTENSION[extname(file)] ?? 'sse';
    const only = oneOf('--only', values.only, MEMBERS);
    const request = values.input === undefined ? undefined : await readRequest(values.input);

    const reading = await readStream(file, format, request, io);
    if (reading.head.length > 0 && !reading.holdsEvents) return explain(reading.head, file, format, io);
    return print(reading.folded, only, io);
  },
};

function oneOf<const T extends string>(
  option: string,
  given: string | undefined,
  expected: readonly T[],
): T | undefined {
  const found = expected.find((value) => value === given);
  if (given !== undefined && found === undefined) {
    throw new UsageError(`${option}: given ${JSON.stringify(given)}, expected ${expected.join(', ')}`);
  }
  return found;
}

async function readRequest(path: string): Promise<RunRequest> {
  const { readRunRequest } = await import('../agui/input.ts');
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unusablePath(path, error);
  });
  const json = text.replace(/^\uFEFF/, '');
  const value = parseJson(json);
  const request = readRunRequest(value);
  if (request) return request;
  const { describeBrokenJson } = await import('./describe-json.ts');
  const found = describeBrokenJson(json) ?? `given ${describeJson(value)}`;
  throw new UsageError(`--input ${path}: ${found}; expected a JSON object, the body of a request to an AG-UI agent`);
}

interface Reading {
  readonly folded: Folded;
  readonly holdsEvents: boolean;
  /** The first bytes of the input; empty when it was. */
  readonly head: Uint8Array;
}

async function readStream(
  file: string,
  format: StreamFormat,
  request: RunRequest | undefined,
  { stdin, signal }: CommandIo,
): Promise<Reading> {
  const [{ holdsEvents, openFold }, { pacedInput }, { openStreamReader }, { HEAD_BYTES }] = await Promise.all([
    import('../agui/fold.ts'),
    import('../agui/paced-input.ts'),
    import('../agui/read-stream.ts'),
    import('./describe-capture.ts'),
  ]);
  const fold = await paced(openFold(request));
  const input = pacedInput(fold);
  const reader = await openStreamReader(format, input, { maxEventBytes: Number.POSITIVE_INFINITY });
  const head: Uint8Array[] = [];
  let headLength = 0;
  const source: Readable = file === '-' ? stdin : createReadStream(file);
  try {
    for await (const chunk of source) {
      signal.throwIfAborted();
      const bytes = Buffer.from(chunk);
      reader.push(bytes);
      await input.settle();
      if (headLength < HEAD_BYTES) head.push(bytes);
      headLength += bytes.length;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw unusablePath(file, error);
  }
  reader.end();
  await input.settle();
  const folded = await paced(fold.finishing('complete'));
  return { folded, holdsEvents: holdsEvents(folded), head: Buffer.concat(head).subarray(0, HEAD_BYTES) };
}

async function explain(
  head: Uint8Array,
  file: string,
  format: StreamFormat,
  { stderr }: CommandIo,
): Promise<ExitStatus> {
  const { describeCapture } = await import('./describe-capture.ts');
  const source = file === '-' ? 'standard input' : file;
  stderr.write(`agui-sidecar: no AG-UI event in ${source}, read as ${format}: ${describeCapture(head, format)}\n`);
  return EXIT.failed;
}

async function print(
  folded: Folded,
  only: (typeof MEMBERS)[number] | undefined,
  { stdout }: CommandIo,
): Promise<ExitStatus> {
  const { toRagasMessages } = await import('../conversation/ragas.ts');
  const { runs, messages, findings } = folded;
  const document = { runs, messages, ragas: toRagasMessages(messages), findings };
  stdout.write(`${JSON.stringify(only === undefined ? document : document[only], null, 2)}\n`);
  return EXIT.done;
}
