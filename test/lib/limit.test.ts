import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLimit } from '../../src/lib/limit.ts';

/** Work that ends when the test says so, and the names of what has begun. */
function controlledWork() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    work: (name: string) => () =>
      new Promise<string>((resolve) => {
        begun.push(name);
        ends.set(name, () => resolve(name));
      }),
    end: async (name: string) => {
      ends.get(name)?.();
      await turn();
    },
  };
}

describe('a limit', () => {
  it('lets as many run as it has places, and the others in the order of their coming', async () => {
    const limit = createLimit(2);
    const { begun, work, end } = controlledWork();
    const results = ['a', 'b', 'c', 'd'].map((name) => limit(undefined, work(name)));
    await turn();
    expect(begun).toEqual(['a', 'b']);

    await end('b');
    results.push(limit(undefined, work('e')));
    for (const name of ['c', 'a', 'd', 'e']) await end(name);

    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('passes over those that were told to stop while they waited', async () => {
    const limit = createLimit(1);
    const { begun, work, end } = controlledWork();
    const stop = new AbortController();
    const results = [
      limit(undefined, work('a')),
      limit(stop.signal, work('b')),
      limit(stop.signal, work('c')),
      limit(undefined, work('d')),
    ];
    stop.abort(new Error('no more'));
    await expect(results[1]).rejects.toThrow('no more');
    await expect(results[2]).rejects.toThrow('no more');
    for (const name of ['a', 'd']) await end(name);
    expect(begun).toEqual(['a', 'd']);
  });

  it('gives its place on when work fails', async () => {
    const limit = createLimit(1);
    const failed = limit(undefined, () => Promise.reject(new Error('broken')));
    const next = limit(undefined, async () => 'next');
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });

  it('takes time that grows with the number of those that wait, not with its square', async () => {
    const limit = createLimit(1);
    let done = 0;
    // A second; where each that leaves moves all the others, more than the minute's half that stands below.
    await Promise.all(Array.from({ length: 500_000 }, () => limit(undefined, async () => (done += 1))));
    expect(done).toBe(500_000);
  }, 30_000);
});
