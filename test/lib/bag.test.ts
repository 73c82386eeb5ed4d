import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBag } from '../../src/lib/bag.ts';

it('holds what was put in and not taken out, each as often as it was put in', () => {
  const change = fc.oneof(fc.record({ put: fc.integer({ min: 0, max: 5 }) }), fc.record({ takeOut: fc.nat(20) }));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const bag = createBag<number>();
      const held: { readonly item: number; readonly takeOut: () => void }[] = [];
      for (const step of changes) {
        if ('put' in step) held.push({ item: step.put, takeOut: bag.add(step.put) });
        else held.splice(step.takeOut % Math.max(1, held.length), 1)[0]?.takeOut();
      }

      expect(bag.size()).toBe(held.length);
      expect([...bag.items()].toSorted()).toEqual(held.map(({ item }) => item).toSorted());
    }),
  );
});

it('does nothing when something is taken out twice, or while it is looked through', () => {
  const bag = createBag<string>();
  const takeOut = ['a', 'b', 'c'].map((item) => bag.add(item));
  takeOut[0]?.();
  takeOut[0]?.();
  const seen = bag.items().map((item) => {
    for (const take of takeOut) take();
    return item;
  });

  expect(seen.toSorted()).toEqual(['b', 'c']);
  expect(bag.size()).toBe(0);
});
