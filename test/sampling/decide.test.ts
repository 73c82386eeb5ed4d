import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideSampling } from '../../src/sampling/decide.ts';

const thread = (threadId: string) => ({ agent: 'harbour', threadId });

describe('sampling', () => {
  it('gives the same thread the same answer every time, and rates in between keep the order', () => {
    const rates = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.string(), rates, rates, (threadId, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const chosen = (rate: number) => decideSampling(thread(threadId), { rate }).sampled;
        expect(chosen(low)).toBe(chosen(low));
        if (chosen(low)) expect(chosen(high)).toBe(true);
      }),
    );
  });

  it('chooses none at rate 0 and all at rate 1', () => {
    fc.assert(
      fc.property(fc.string(), (threadId) => {
        expect(decideSampling(thread(threadId), { rate: 0 }).sampled).toBe(false);
        expect(decideSampling(thread(threadId), { rate: 1 })).toMatchObject({ sampled: true, probability: 1 });
      }),
    );
  });

  it('chooses the share that the rate says', () => {
    const total = 20_000;
    let chosen = 0;
    for (let at = 0; at < total; at += 1) {
      if (decideSampling(thread(`thread-${at}`), { rate: 0.1 }).sampled) chosen += 1;
    }
    // The hash is fixed, so this count is too; the bound is four standard errors.
    expect(Math.abs(chosen / total - 0.1)).toBeLessThan(4 * Math.sqrt((0.1 * 0.9) / total));
  });

  it('draws independently for agents, tenants and salts', () => {
    const key = { agent: 'a', tenant: 'x', threadId: 't' };
    const draws = [
      [key, ''],
      [{ ...key, agent: 'b' }, ''],
      [{ ...key, tenant: 'y' }, ''],
      [{ agent: 'a', threadId: 't' }, ''],
      [key, 'salt'],
    ] as const;
    const thresholds = draws.map(([each, salt]) => {
      let rate = 0;
      while (!decideSampling(each, { rate, salt }).sampled) rate += 0.001;
      return rate;
    });
    expect(new Set(thresholds).size).toBe(draws.length);
  });
});
