import { parseArgs } from 'node:util';
import { startCoverage } from './coverage.ts';
import { explore, type Exploration } from './explore.ts';
import { saveFind } from './finds.ts';
import type { FuzzTarget } from './target.ts';
import { TARGETS } from './targets.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

/**
 * `npm run fuzz -- --minutes N [--seed S] [--target NAME]`. The time is shared out evenly among the targets. Exit status 1
 * when something did not hold, 2 when the arguments make no sense.
 */
async function main(): Promise<number> {
  const values = readArguments();
  if (values instanceof TypeError) return refuse(values.message);
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0) || !Number.isInteger(seed)) {
    return refuse(
      `--minutes: given "${values.minutes}", expected a number above 0; --seed: given "${values.seed}", expected an integer.`,
    );
  }
  const unknown = values.target?.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown !== undefined) {
    return refuse(`--target: given "${unknown}", expected one of ${TARGETS.map(({ name }) => name).join(', ')}.`);
  }
  const targets = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true);

  console.log(`seed ${seed}, ${minutes} min over ${targets.length} targets`);
  const watchdog = startWatchdog();
  let finds = 0;
  for (const target of targets) {
    if (await fuzz(target, { seed, ms: (minutes * 60_000) / targets.length, watchdog })) finds += 1;
  }
  await watchdog[Symbol.asyncDispose]();
  return finds > 0 ? 1 : 0;
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: '1' },
        seed: { type: 'string', default: String(Date.now() % 1e6) },
        target: { type: 'string', multiple: true },
      },
    }).values;
  } catch (error) {
    if (error instanceof TypeError) return error;
    throw error;
  }
}

interface FuzzOptions {
  readonly seed: number;
  readonly ms: number;
  readonly watchdog: Watchdog;
}

/** Fuzzes one target and prints how it went; true when there is a find. */
async function fuzz(target: FuzzTarget, { seed, ms, watchdog }: FuzzOptions): Promise<boolean> {
  const opened = await target.open();
  // A fresh count for each target: what another reached is not reached here.
  const coverage = await startCoverage();
  const startedAt = performance.now();
  const exploration = await explore(target, opened, {
    seed,
    coverage,
    isDone: () => performance.now() - startedAt > ms,
    onInput: (input) => watchdog.begin(target.name, input),
  });
  console.log(describe(target.name, exploration, (performance.now() - startedAt) / 1000, coverage.reached()));
  await coverage[Symbol.asyncDispose]();
  await opened[Symbol.asyncDispose]();

  const { find } = exploration;
  if (!find) return false;
  const file = saveFind(target.name, find.input, find.failure);
  console.error(
    `\n${target.name} failed, seed ${seed}:\n${find.failure}\n\ninput, kept in ${file}:\n${JSON.stringify(find.input).slice(0, 2000)}\n`,
  );
  return true;
}

function describe(name: string, exploration: Exploration, seconds: number, reached: number): string {
  const { inputs, kept, slowest, stepsPerCharacter } = exploration;
  return [
    name.padEnd(14),
    `${inputs} inputs`.padStart(15),
    `${Math.round(inputs / seconds)}/s`.padStart(8),
    `${reached} reached`.padStart(15),
    `${kept} kept`.padStart(11),
    `slowest ${Math.round(slowest.ms)} ms for ${slowest.characters} characters`.padStart(45),
    `at most ${stepsPerCharacter.toFixed(1)} steps a character`.padStart(38),
  ].join('');
}

function refuse(message: string): number {
  console.error(message);
  return 2;
}

process.exitCode = await main();
