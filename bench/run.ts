/**
 * `npm run bench`, or `npm run bench -- NAME` for one. Each benchmark compares variants inside the same windows of time,
 * on the same machine and the same traffic, and prints ratios: absolute figures of one machine say little about another.
 */
const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  proxy: async () => (await import('./proxy.ts')).benchProxy(),
  collector: async () => (await import('./collector.ts')).benchCollector(),
};

const [name] = process.argv.slice(2);
const names = name === undefined ? Object.keys(BENCHMARKS) : [name];
for (const each of names) {
  const benchmark = Object.hasOwn(BENCHMARKS, each) ? BENCHMARKS[each] : undefined;
  if (benchmark) {
    console.log(`\n${each}`);
    await benchmark();
  } else {
    console.error(`No benchmark is called "${each}". Known: ${Object.keys(BENCHMARKS).join(', ')}.`);
    process.exitCode = 2;
  }
}
