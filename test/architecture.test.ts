import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

interface Import {
  /** The importing file, relative to src/. */
  readonly from: string;
  /** A file relative to src/, or a package's specifier. */
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), 'utf8');
  const statements = text.matchAll(/^(?:import|export) (type )?[^;]*?from '([^']+)';|import\('([^']+)'\)/gmu);
  return [...statements].map(([, type, named, dynamic]) => {
    const specifier = named ?? dynamic ?? '';
    const to = specifier.startsWith('.') ? relative(SRC, resolve(SRC, dirname(from), specifier)) : specifier;
    return { from, to, typeOnly: type !== undefined };
  });
});

const within = (folder: string) => (path: string) => path.startsWith(`${folder}/`);
const isOneOf =
  (...names: readonly string[]) =>
  (path: string) =>
    names.some((name) => path === name || path.startsWith(`${name}/`));

/** Imports of `target` from anywhere that is not allowed to have it. */
const trespassers = (target: (to: string) => boolean, allowed: (from: string) => boolean) =>
  imports
    .filter(({ from, to, typeOnly }) => !typeOnly && target(to) && !allowed(from))
    .map(({ from, to }) => `${from} → ${to}`);

describe('who may import whom', () => {
  it.each([
    ['openai', isOneOf('openai'), isOneOf('judge/openai.ts')],
    ['eventsource-parser', isOneOf('eventsource-parser'), isOneOf('agui/decode-sse.ts')],
    ['@ag-ui/proto', isOneOf('@ag-ui/proto'), isOneOf('agui/decode-protobuf.ts')],
    [
      'the OpenTelemetry SDK',
      (to: string) => to.startsWith('@opentelemetry/') && to !== '@opentelemetry/api',
      within('telemetry'),
    ],
    ['prom-client', isOneOf('prom-client'), within('telemetry')],
    ['express', isOneOf('express'), within('admin')],
    [
      'node:http',
      isOneOf('node:http', 'node:https'),
      (from: string) =>
        within('proxy')(from) ||
        within('admin')(from) ||
        isOneOf('telemetry/collector-connections.ts', 'judge/bounded-fetch.ts')(from),
    ],
    ['the configuration', isOneOf('config'), (from: string) => within('commands')(from) || within('config')(from)],
  ])('%s', (_, target, allowed) => {
    expect(imports.some(({ to }) => target(to))).toBe(true);
    expect(trespassers(target, allowed)).toEqual([]);
  });
});

describe('the pure core', () => {
  const pure = (from: string) =>
    ['agui', 'conversation', 'sampling', 'statistics'].some((folder) => within(folder)(from));

  it('does no input or output', () => {
    const io = /^node:(fs|net|http|https|child_process|worker_threads|process)/u;
    expect(imports.filter(({ from, to }) => pure(from) && io.test(to))).toEqual([]);
  });

  it('reads no clock, no randomness and no environment', () => {
    const ambient = /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|randomUUID|process\.env)\b/u;
    expect(files.filter((name) => pure(name) && ambient.test(readFileSync(join(SRC, name), 'utf8')))).toEqual([]);
  });
});

describe('data moves one way', () => {
  // Each stage may know those before it, and the vocabulary of messages; none knows those behind it. The commands, and what
  // only they use, come last: they are built on what serves.
  const serving = 'lib statistics proxy agui conversation judge metrics sampling store scoring telemetry admin config';
  const stages = `${serving} batch suite check commands`.split(' ');

  it('every folder is a stage', () => {
    const folders = new Set(files.flatMap((name) => (name.includes('/') ? [name.slice(0, name.indexOf('/'))] : [])));
    expect([...folders].toSorted()).toEqual(stages.toSorted());
  });

  it('the proxy knows only the capture that it hands over', () => {
    const known = isOneOf('proxy', 'lib', 'agui/capture.ts');
    expect(imports.filter(({ from, to }) => within('proxy')(from) && files.includes(to) && !known(to))).toEqual([]);
  });

  it('no stage runs code of a later one', () => {
    const backwards = imports.filter(({ from, to, typeOnly }) => {
      const [source, target] = [from, to].map((path) => stages.findIndex((stage) => within(stage)(path)));
      const vocabulary = isOneOf('conversation/message.ts')(to);
      return !typeOnly && !vocabulary && source !== undefined && target !== undefined && source >= 0 && target > source;
    });
    expect(backwards).toEqual([]);
  });
});

/** The text of a file, comments aside. */
const code = (name: string) => readFileSync(join(SRC, name), 'utf8').replace(/\/\*.*?\*\/|\/\/[^\n]*/gsu, '');

// The oldest Node that package.json allows has neither; what is published keeps them as they are written.
it('nothing is disposed of by syntax or classes that Node 22 lacks', () => {
  const explicit = /\busing\s+[\w$]+\s*(?:=|of\b)|\b(?:Async)?DisposableStack\b|\bSuppressedError\b/u;
  expect(explicit.test('await using server = start();')).toBe(true);
  expect(files.filter((name) => explicit.test(code(name)))).toEqual([]);
});

it('names of metrics and attributes are written once, in the conventions', () => {
  const literal = /['"`](agui_[a-z_]+|gen_ai\.[a-z_.]+|ag_ui\.[a-z_.]+)['"`]/u;
  const elsewhere = files.filter((name) => name !== 'telemetry/semconv.ts');
  expect(elsewhere.filter((name) => literal.test(code(name)))).toEqual([]);
});
