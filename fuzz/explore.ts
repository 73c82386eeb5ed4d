import fc from 'fast-check';
import type { JsonValue } from '../src/lib/json.ts';
import type { Coverage } from './coverage.ts';
import { inflate, mutate } from './mutate.ts';
import { createRandom, type Random } from './random.ts';
import { shrink } from './shrink.ts';
import type { FuzzTarget, OpenTarget } from './target.ts';

export interface ExploreOptions {
  readonly seed: number;
  /** Asked before each input. */
  readonly isDone: (inputs: number) => boolean;
  /** Leads the search to inputs that do something new, and counts steps. Absent: inputs are chosen blindly. */
  readonly coverage?: Coverage;
  /** Told each input before it is run. */
  readonly onInput?: (input: JsonValue) => void;
}

interface Find {
  readonly input: JsonValue;
  readonly failure: string;
}

export interface Exploration {
  readonly inputs: number;
  /** Inputs that were kept, since each reached something new. */
  readonly kept: number;
  readonly slowest: { readonly ms: number; readonly characters: number };
  /** The most steps that an input took for each of its characters. */
  readonly stepsPerCharacter: number;
  readonly find?: Find;
}

/** Longest input, in characters of JSON. */
const MAX_CHARACTERS = 64 * 1024;
/** Once in a while one is made this long, to see what grows faster than its input. */
const INFLATED_CHARACTERS = 400_000;
const SHARE_INFLATED = 0.01;
const SHARE_FRESH = 0.2;

/**
 * Steps an input may take for each of its characters. Real streams take about 5. What the documented bound on the comparing
 * of snapshots allows comes on top.
 */
const STEPS_PER_CHARACTER = 150;
const STEPS_OF_BOUNDS = 30_000_000;

const SHRINKING_MS = 20_000;

/** Runs inputs against a target until it is done or one fails. */
export async function explore(target: FuzzTarget, opened: OpenTarget, options: ExploreOptions): Promise<Exploration> {
  const { seed, isDone, coverage, onInput } = options;
  const random = createRandom(seed);
  const fresh = freshInputs(target.fresh, seed);
  const seeds = target.seeds();
  const kept: JsonValue[] = [];
  let inputs = 0;
  let slowest = { ms: 0, characters: 0 };
  let stepsPerCharacter = 0;

  /** What is wrong with an input; undefined when all holds. */
  const failureOf = async (input: JsonValue): Promise<{ failure?: string; isNew: boolean }> => {
    onInput?.(input);
    const characters = JSON.stringify(input).length;
    const startedAt = performance.now();
    try {
      await opened.run(input);
    } catch (error) {
      return { failure: describe(error), isNew: false };
    }
    const ms = performance.now() - startedAt;
    if (ms > slowest.ms) slowest = { ms, characters };
    if (!coverage) return { isNew: false };
    const { isNew, steps } = await coverage.take();
    const ratio = steps / (characters + 100);
    const isRecord = ratio > stepsPerCharacter * 1.05;
    stepsPerCharacter = Math.max(stepsPerCharacter, ratio);
    if (steps > STEPS_OF_BOUNDS + STEPS_PER_CHARACTER * characters) {
      return { failure: `took ${steps} steps for ${characters} characters`, isNew };
    }
    return { isNew: isNew || isRecord };
  };

  /** Runs one input; the find, when it fails. */
  const attempt = async (input: JsonValue): Promise<Find | undefined> => {
    inputs += 1;
    const { failure, isNew } = await failureOf(input);
    if (failure === undefined) {
      if (isNew && JSON.stringify(input).length <= MAX_CHARACTERS) kept.push(input);
      return undefined;
    }
    const isSame = async (candidate: JsonValue): Promise<boolean> =>
      kindOf((await failureOf(candidate)).failure ?? '') === kindOf(failure);
    const startedAt = performance.now();
    const smallest = await shrink(input, isSame, () => performance.now() - startedAt < SHRINKING_MS);
    return { input: smallest, failure: (await failureOf(smallest)).failure ?? failure };
  };

  const search = async (): Promise<Find | undefined> => {
    // What the seeds reach is where a guided search begins; a blind one only mutates them.
    for (const input of coverage ? seeds : []) {
      if (isDone(inputs)) return undefined;
      const find = await attempt(input);
      if (find) return find;
    }
    while (!isDone(inputs)) {
      const find = await attempt(nextInput(kept.length > 0 ? kept : seeds, fresh, random));
      if (find) return find;
    }
    return undefined;
  };

  // What ran before is not the first input's doing.
  await coverage?.take();
  const find = await search();
  return { inputs, kept: kept.length, slowest, stepsPerCharacter, ...(find && { find }) };
}

function nextInput(pool: readonly JsonValue[], fresh: Generator<JsonValue, never>, random: Random): JsonValue {
  if (pool.length === 0 || random.chance(SHARE_FRESH)) return fresh.next().value;
  const chosen = random.pick(pool);
  if (random.chance(SHARE_INFLATED)) {
    // What grows with two things at once needs both.
    return inflate(inflate(chosen, INFLATED_CHARACTERS / 2, random), INFLATED_CHARACTERS / 2, random);
  }
  let input = chosen;
  for (let left = 1 + random.below(6); left > 0; left -= 1) input = mutate(input, random, random.pick(pool));
  return JSON.stringify(input).length <= MAX_CHARACTERS ? input : chosen;
}

/** Values of an arbitrary without end. */
function* freshInputs(arbitrary: fc.Arbitrary<JsonValue>, seed: number): Generator<JsonValue, never> {
  for (let batch = 0; ; batch += 1) yield* fc.sample(arbitrary, { seed: seed + batch, numRuns: 100 });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Failures of one kind differ in numbers and quotations only. */
const kindOf = (failure: string): string => failure.slice(0, 80).replaceAll(/\d+|'.*|".*/g, '');
