/** A source of randomness that a seed can bring back. */
export interface Random {
  /** An integer in [0, bound); 0 when the bound is below 1. */
  below(bound: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

/** Marsaglia's xorshift with 32 bits of state: enough to choose what to break. */
export function createRandom(seed: number): Random {
  // Spreads small seeds over the state, which must not be 0.
  let state = Math.imul(seed ^ 0x5bd1_e995, 0x9e37_79b1) | 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  const below = (bound: number): number => (bound < 1 ? 0 : next() % bound);
  return {
    below,
    chance: (probability) => next() / 2 ** 32 < probability,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('given an empty list to pick from, expected at least one item');
      return item;
    },
  };
}
