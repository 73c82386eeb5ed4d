/**
 * Does `work` for every item, at most `concurrency` at once, and yields the results in the order of the items as soon as
 * that order allows. The first failure in that order is thrown; work that had not begun by then never does.
 *
 * @param concurrency a whole number of at least 1.
 */
export async function* mapInOrder<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const slots = items.map((item) => ({ item, done: Promise.withResolvers<Result>() }));
  // A caller that stops early awaits none of the later results, and their failures are nobody's any more.
  for (const { done } of slots) done.promise.catch(() => undefined);
  const waiting = slots.values();
  let stopped = false;

  const worker = async (): Promise<void> => {
    for (const { item, done } of waiting) {
      if (stopped) return;
      try {
        done.resolve(await work(item));
      } catch (error) {
        stopped = true;
        done.reject(error);
      }
    }
  };
  const workers = Array.from({ length: Math.min(concurrency, items.length) }, worker);
  try {
    for (const { done } of slots) {
      // A slot that no worker reached stays open for ever; the failure that stopped them has been thrown before it.
      yield await done.promise;
    }
  } finally {
    stopped = true;
    await Promise.all(workers);
  }
}
