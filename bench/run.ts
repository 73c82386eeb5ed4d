import type { Found } from './found.ts';
import { type Arguments, type BenchOptions, readArguments, USAGE, UsageError } from './options.ts';
import { writeToPage } from './page.ts';

/** Each is loaded only when it runs. */
const BENCHMARKS: Readonly<Record<string, (options: BenchOptions) => Promise<Found>>> = {
  proxy: async (options) => (await import('./proxy/bench.ts')).benchProxy(options),
  tee: async (options) => (await import('./tee/bench.ts')).benchTee(options),
  isolation: async (options) => (await import('./isolation/bench.ts')).benchIsolation(options),
  collector: async (options) => (await import('./collector/bench.ts')).benchCollector(options),
};

/** `npm run bench`. Ends with status 1 when something was found that must not be, and 2 when it was not understood. */
async function run(args: readonly string[]): Promise<number> {
  const read = understood(args);
  if (typeof read === 'string') return refuse(read);
  const { names, options, isForPage } = read;
  const unknown = names.find((name) => !Object.hasOwn(BENCHMARKS, name));
  if (unknown !== undefined) return refuse(`No benchmark is called "${unknown}".`);
  let status = 0;
  for (const [name, benchmark] of Object.entries(BENCHMARKS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(`\n${name}`);
    const { text, faults, missed = [] } = await benchmark(options);
    console.log(`\n${text}`);
    for (const fault of [...faults, ...missed]) console.error(`\n${fault}`);
    if (faults.length + missed.length > 0) status = 1;
    if (faults.length === 0 && isForPage) await writeToPage(name, text);
  }
  return status;
}

/** The arguments, or what is wrong with them. */
function understood(args: readonly string[]): Arguments | string {
  try {
    return readArguments(args);
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

function refuse(message: string): number {
  console.error(`${message}\n\n${USAGE}`);
  return 2;
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof UsageError) return refuse(error.message);
  throw error;
});
