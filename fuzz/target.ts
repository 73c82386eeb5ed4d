import type fc from 'fast-check';
import type { JsonValue } from '../src/lib/json.ts';

/**
 * One part under fuzzing. Inputs are JSON, so that any of them can be mutated by one mutator, shrunk by one shrinker and
 * kept as a file. Bytes stand in them as strings of one character a byte (Latin-1).
 */
export interface FuzzTarget {
  readonly name: string;
  /** Inputs to begin with: what real servers and clients said. */
  readonly seeds: () => readonly JsonValue[];
  /** Inputs that have nothing to do with the seeds. */
  readonly fresh: fc.Arbitrary<JsonValue>;
  readonly open: () => Promise<OpenTarget>;
}

export interface OpenTarget extends AsyncDisposable {
  /**
   * Does the input and checks what must hold. Takes any JSON: what a mutation made of the wrong type reads as nothing.
   *
   * @throws when something did not hold.
   */
  run(input: JsonValue): Promise<void>;
}

/** A target that needs nothing to be opened. */
export const pureTarget = ({
  run,
  ...rest
}: Omit<FuzzTarget, 'open'> & { readonly run: (input: JsonValue) => void | Promise<void> }): FuzzTarget => ({
  ...rest,
  open: async () => ({ run: async (input) => run(input), [Symbol.asyncDispose]: async () => {} }),
});
