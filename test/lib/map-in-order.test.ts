import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mapInOrder } from '../../src/lib/map-in-order.ts';

const collect = async <T>(results: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const each of results) all.push(each);
  return all;
};

describe('mapInOrder', () => {
  it('yields in the order of the items, whichever is done first', async () => {
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const results = collect(mapInOrder([0, 1, 2], 3, (item) => gates[item]!.promise.then(() => item * 10)));
    for (const gate of gates.toReversed()) {
      gate.resolve();
      await turnOfTheLoop();
    }
    expect(await results).toEqual([0, 10, 20]);
  });

  it('has at most so many under way, and uses all of them', async () => {
    let underWay = 0;
    let most = 0;
    await collect(
      mapInOrder(Array.from({ length: 20 }), 4, async () => {
        most = Math.max(most, ++underWay);
        await turnOfTheLoop();
        underWay--;
      }),
    );
    expect(most).toBe(4);
  });

  it('throws a failure in its place and begins nothing after it', async () => {
    const begun: number[] = [];
    const yielded: number[] = [];
    const run = (async () => {
      const work = async (item: number) => {
        begun.push(item);
        await turnOfTheLoop();
        if (item === 2) throw new Error('the third');
        return item;
      };
      for await (const each of mapInOrder([0, 1, 2, 3, 4, 5, 6, 7], 2, work)) yielded.push(each);
    })();
    await expect(run).rejects.toThrow('the third');
    expect(yielded).toEqual([0, 1]);
    expect(begun.length).toBeLessThan(8);
  });

  it('stops when its reader does', async () => {
    const begun: number[] = [];
    const work = async (item: number) => {
      begun.push(item);
      await turnOfTheLoop();
    };
    for await (const _ of mapInOrder([0, 1, 2, 3, 4, 5], 1, work)) break;
    expect(begun.length).toBeLessThan(6);
  });

  it('yields nothing for no items', async () => {
    expect(await collect(mapInOrder([], 3, () => Promise.resolve()))).toEqual([]);
  });
});
