import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collect } from '../../src/commands/collect.ts';
import { UsageError } from '../../src/lib/usage-error.ts';
import { runCommand } from '../support/run-command.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/agui/${name}`, import.meta.url));

const run = (args: readonly string[], stdin?: string) =>
  runCommand(collect, args, stdin === undefined ? {} : { stdin });

describe('collect', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collect-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it.each([
    ['berth.sse', []],
    ['berth.pb', ['--format', 'protobuf']],
    ['berth.pb', []],
    ['berth.jsonl', ['--format', 'jsonl']],
    ['berth.jsonl', []],
  ])('prints what %s with %j comes to', async (file, options) => {
    const { status, stdout } = await run([fixture(file), '--input', fixture('berth.request.json'), ...options]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(await readFile(fixture('berth.expected.json'), 'utf8')));
  });

  it('reads standard input without a file, or for -', async () => {
    const sse = await readFile(fixture('berth.sse'), 'utf8');
    const { stdout } = await run([], sse);
    expect(JSON.parse(stdout)).toMatchObject({ messages: [{ id: 'a-1' }, { id: 't-1' }, { id: 'a-2' }] });
    expect((await run(['-'], sse)).stdout).toBe(stdout);
  });

  it.each(['messages', 'ragas', 'findings'])('prints the %s alone', async (member) => {
    const { status, stdout } = await run([fixture('berth.sse'), '--only', member]);
    expect(status).toBe(0);
    const whole = JSON.parse((await run([fixture('berth.sse')])).stdout) as Record<string, unknown>;
    expect(JSON.parse(stdout)).toEqual(whole[member]);
  });

  it('has nothing against an empty input', async () => {
    const { status, stdout } = await run([], '');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runs: [], messages: [], ragas: [] });
  });

  it.each<[string, readonly string[], string | Uint8Array, string]>([
    [
      'text',
      [],
      '\nHello there\n',
      'input, read as sse: line 2 is "Hello there"; expected lines such as data: {"type"',
    ],
    [
      'JSON lines',
      [],
      '{"type":"RUN_STARTED"}\n',
      'line 1 is "{\\"type\\":\\"RUN_STARTED\\"}"; for one JSON event a line use --format jsonl',
    ],
    [
      'another stream',
      [],
      ': hi\n\ndata: {"choices":[]}\n\n',
      'line 3 is "data: {\\"choices\\":[]}"; expected lines such as',
    ],
    ['blank lines', [], '\n\n', 'it holds blank lines only'],
    ['frames', [], Buffer.from([0, 0, 0, 2, 10, 1]), 'for the binary transport use --format protobuf'],
    ['gzip', [], Buffer.from([0x1f, 0x8b, 8, 0]), 'byte 0 begins a gzip file; decompress it first'],
    ['no JSON', ['--format', 'jsonl'], 'x\n', 'line 1 is "x"; expected a JSON object such as'],
    ['unknown types', ['--format', 'jsonl'], '{"type":"X"}\n', 'line 1 is "{\\"type\\":\\"X\\"}"'],
    [
      'text as frames',
      ['--format', 'protobuf'],
      'data: {}',
      'byte 0 announces a frame of 1684108385 bytes, and 4 follow',
    ],
    [
      'a broken frame',
      ['--format', 'protobuf'],
      Buffer.from([0, 0, 0, 1, 9]),
      'byte 4 begins a frame of 1 bytes that is no AG-UI event',
    ],
    [
      'too little',
      ['--format', 'protobuf'],
      Buffer.from([0, 0]),
      'it has 2 bytes; a frame begins with 4 for its length',
    ],
  ])('fails on %s and says what it found', async (_, args, content, message) => {
    const path = join(folder, 'input');
    await writeFile(path, content);
    const { status, stdout, stderr } = await run([path, ...args]);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  });

  it('names standard input when that is what holds no event', async () => {
    const { status, stderr } = await run([], 'Hello');
    expect(status).toBe(1);
    expect(stderr).toContain('no AG-UI event in standard input, read as sse: line 1 is "Hello"');
  });

  it.each<[readonly string[], string]>([
    [['--format', 'xml'], '--format: given "xml", expected sse, protobuf, jsonl'],
    [['--only', 'runs'], '--only: given "runs", expected messages, ragas, findings'],
    [['a', 'b'], 'collect takes one FILE, given 2'],
    [['--verbose'], "Unknown option '--verbose'"],
    [['no-such-file.sse'], 'no-such-file.sse: expected a readable file (ENOENT)'],
    [['--input', 'no-such-file.json'], 'no-such-file.json: expected a readable file (ENOENT)'],
  ])('refuses %j', async (args, message) => {
    const refusal = run(args);
    await expect(refusal).rejects.toThrow(UsageError);
    await expect(refusal).rejects.toThrow(message);
  });

  it.each([
    ['[]', 'given an empty list'],
    ['"hi"', 'given "hi"'],
    ['{\n  "threadId": "t",\n}', 'line 3, column 1 is no JSON: "}"'],
    ['{"threadId": "t"', 'it ends at line 1, column 17, in the midst of its JSON'],
    ['', 'it ends at line 1, column 1, in the midst of its JSON'],
  ])('refuses the request %j and says why', async (json, found) => {
    const path = join(folder, 'request.json');
    await writeFile(path, json);
    await expect(run(['--input', path])).rejects.toThrow(
      `--input ${path}: ${found}; expected a JSON object, the body of a request`,
    );
  });

  it('loads no package before it runs', async () => {
    const script = `
      import { registerHooks } from 'node:module';
      const packages = [];
      registerHooks({
        resolve(specifier, context, next) {
          const resolved = next(specifier, context);
          if (resolved.url.includes('node_modules')) packages.push(specifier);
          return resolved;
        },
      });
      const { collect } = await import(process.argv[1]);
      console.log(collect.help, JSON.stringify(packages));`;
    const module = new URL('../../src/commands/collect.ts', import.meta.url).href;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, module]);
    expect(stdout).toContain('Usage: agui-sidecar collect');
    expect(stdout.trimEnd().endsWith('[]')).toBe(true);
  });
});
