import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createInOrder } from '../../src/lib/in-order.ts';

it('does at once what has nothing in front of it', () => {
  const inOrder = createInOrder();
  expect([inOrder(() => 1), inOrder(() => 2)]).toEqual([1, 2]);
});

it('lets everything wait for what is under way, in order', async () => {
  const inOrder = createInOrder();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const results = [
    inOrder(() => first.promise.then(() => done.push('first'))),
    inOrder(() => done.push('second')),
    inOrder(async () => {
      await turn();
      done.push('third');
    }),
    inOrder(() => done.push('fourth')),
  ];
  await turn();
  expect(done).toEqual([]);
  first.resolve();
  await results.at(-1);
  expect(done).toEqual(['first', 'second', 'third', 'fourth']);
  expect(inOrder(() => 'at once again')).toBe('at once again');
});

it('goes on behind what throws, at once or in its turn', async () => {
  const inOrder = createInOrder();
  const broken = () => {
    throw new Error('broken');
  };
  expect(() => inOrder(broken)).toThrow('broken');
  const first = Promise.withResolvers<void>();
  void inOrder(() => first.promise);
  const waiting = inOrder(broken);
  const next = inOrder(() => 'done');
  first.resolve();
  await expect(waiting).rejects.toThrow('broken');
  expect(await next).toBe('done');
});

it('goes on behind what fails, which fails for its giver alone', async () => {
  const inOrder = createInOrder();
  const failing = inOrder(() => Promise.reject(new Error('broken')));
  const next = inOrder(() => 'done');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('done');
});
