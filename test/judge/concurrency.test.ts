import { expect, it } from 'vitest';
import { FREE, question, setUp } from './questions.ts';

it('asks no more questions at once than configured, first come, first served', async () => {
  const held: PromiseWithResolvers<void>[] = [];
  await using bench = await setUp(
    {
      scripts: {
        berth: async ({ messages }) => {
          // The first question tells that the endpoint answers; the others are held.
          if (messages[0]?.content === 'warm up') return { value: FREE };
          const hold = Promise.withResolvers<void>();
          held.push(hold);
          await hold.promise;
          return { value: FREE };
        },
      },
    },
    { concurrency: 2 },
  );
  const ask = (content: string) => bench.ask({ ...question, messages: [{ role: 'user', content }] });
  await ask('warm up');
  const answers = ['one', 'two', 'three', 'four'].map(ask);
  for (const [done, expected] of [
    ['one', 3],
    ['two', 4],
    ['three', 5],
    ['four', 5],
  ] as const) {
    await bench.server.received(expected);
    expect(bench.server.requests, `before ${done} is answered`).toHaveLength(expected);
    held[['one', 'two', 'three', 'four'].indexOf(done)]?.resolve();
  }
  await Promise.all(answers);
  const order = bench.server.requests.map(({ messages }) => messages[0]?.content);
  expect(order.slice(3)).toEqual(['three', 'four']);
  expect(order.slice(1, 3).toSorted()).toEqual(['one', 'two']);
});

it('a question keeps its place while it waits to be sent again', async () => {
  const wake = Promise.withResolvers<void>();
  const asleep = Promise.withResolvers<void>();
  let served = 0;
  await using bench = await setUp(
    { scripts: { berth: () => (++served === 1 ? { status: 503 } : { value: FREE }) } },
    {
      concurrency: 1,
      sleep: () => {
        asleep.resolve();
        return wake.promise;
      },
    },
  );
  const answers = [bench.ask(), bench.ask()];
  await asleep.promise;
  expect(bench.server.requests).toHaveLength(1);
  wake.resolve();
  await expect(Promise.all(answers)).resolves.toEqual([FREE, FREE]);
});
