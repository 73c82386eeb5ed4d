import { describe, expect, it, vi } from 'vitest';
import { explore } from '../../fuzz/explore.ts';
import { TARGETS } from '../../fuzz/targets.ts';

/** Inputs of each target: few, since the real search is `npm run fuzz`. */
const INPUTS = 80;

describe('a short burst of fuzzing', () => {
  it.each(TARGETS.map((target) => [target.name, target] as const))('finds nothing in %s', async (_, target) => {
    // The official encoder warns of each event that it would rather not have.
    vi.spyOn(console, 'warn').mockReturnValue();
    const opened = await target.open();
    try {
      const exploration = await explore(target, opened, { seed: 1, isDone: (inputs) => inputs >= INPUTS });
      expect(exploration.find).toBeUndefined();
      expect(exploration.inputs).toBe(INPUTS);
    } finally {
      await opened[Symbol.asyncDispose]();
      vi.restoreAllMocks();
    }
  });
});

it('a target that fails is found, shrunk and told', async () => {
  const [example] = TARGETS;
  if (!example) throw new TypeError('there are no targets');
  const failing = {
    run: async (input: unknown) => {
      if (JSON.stringify(input).includes('data:')) throw new Error('it says data');
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const { find } = await explore(example, failing, { seed: 1, isDone: () => false });
  expect(find?.failure).toContain('it says data');
  expect(JSON.stringify(find?.input).length).toBeLessThan(30);
});
