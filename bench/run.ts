/**
 * `npm run bench -- NAME`. Each benchmark compares variants inside the same windows of time, on the same machine and the
 * same traffic, and prints ratios: absolute figures of one machine say little about another.
 */
const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  proxy: async () => (await import('./proxy.ts')).benchProxy(),
  collector: async () => (await import('./collector.ts')).benchCollector(),
};

const [name = ''] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (benchmark) {
  await benchmark();
} else {
  console.error(`No benchmark is called "${name}". Known: ${Object.keys(BENCHMARKS).join(', ')}.`);
  process.exitCode = 2;
}
