import { parseArgs } from 'node:util';

/** What can be said of a benchmark on the command line. */
export interface BenchOptions {
  /** Only show that it works; nothing is written to the page. */
  readonly quick: boolean;
  /** One scenario of the proxy, or the troubles whose names hold this. */
  readonly only: string | undefined;
  /** A second sidecar, in the same windows. */
  readonly other: OtherSidecar | undefined;
}

interface OtherSidecar {
  /** Folder of the checkout that it runs from; absent: this one. */
  readonly checkout: string | undefined;
  /** Settings that differ, as in the environment. */
  readonly settings: Readonly<Record<string, string>>;
}

export const USAGE = `Usage: npm run bench -- [NAME]... [--quick] [--only SCENARIO] [--against DIR] [--with SETTING=VALUE]...

  proxy      the sidecar beside other proxies: CPU, latency, memory, as ratios
  tee        what each step of reading a copied stream costs
  collector  whether reading and merging take time in proportion to what is read
  isolation  latency of streams while judge, collector or store are in trouble

Options:
  --quick               show only that it works
  --only SCENARIO       proxy: paced, short-runs, lock-step, bulk, promptness or memory; isolation: part of a trouble's name
  --against DIR         proxy: a second sidecar from another checkout, in the same windows
  --with SETTING=VALUE  proxy: a second sidecar with this environment variable, such as PASS_THROUGH=false

What each finds is written to docs/performance.md, unless an option is given.
`;

/** What was asked for is not there. The message says what is. */
export class UsageError extends Error {}

/** @throws {UsageError} when `only` is given and takes none of `names`. */
export function requireOne(only: string | undefined, names: readonly string[], takes: (name: string) => boolean): void {
  if (only === undefined || names.some(takes)) return;
  throw new UsageError(`--only "${only}" is none of: ${names.join(', ')}.`);
}

export interface Arguments {
  /** Empty: all benchmarks. */
  readonly names: readonly string[];
  readonly options: BenchOptions;
  /** Nothing was left out or added: what is found belongs on the page. */
  readonly isForPage: boolean;
}

/** @throws {TypeError} on arguments that nobody knows. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals: names } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      against: { type: 'string' },
      with: { type: 'string', multiple: true, default: [] },
    },
  });
  const { quick, only, against: checkout, with: pairs } = values;
  if (only !== undefined && names.length !== 1) {
    throw new TypeError(`--only "${only}" is of one benchmark. Name that one, such as: proxy --only paced.`);
  }
  const settings = Object.fromEntries(pairs.map(readSetting));
  const other = checkout === undefined && pairs.length === 0 ? undefined : { checkout, settings };
  return { names, options: { quick, only, other }, isForPage: !quick && only === undefined && other === undefined };
}

/** @throws {TypeError} on what sets nothing. */
function readSetting(text: string): readonly [name: string, value: string] {
  const end = text.indexOf('=');
  if (end > 0) return [text.slice(0, end), text.slice(end + 1)];
  throw new TypeError(`--with "${text}" is no SETTING=VALUE. Give both, such as --with PASS_THROUGH=false.`);
}
