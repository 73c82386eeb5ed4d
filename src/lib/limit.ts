/** Runs work in a bounded number of places, first come, first served. Without a signal, what waits is done in any case. */
export type Limit = <T>(signal: AbortSignal | undefined, work: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly go: () => void;
  isGone: boolean;
}

/**
 * @param places how many pieces of work run at once; an integer of at least 1. Those that wait are as many as there are
 *   callers: each holds a promise, so the bound on them is the callers' own.
 */
export function createLimit(places: number): Limit {
  let free = places;
  // A queue of two stacks: to take the first of one long array moves all the others.
  const arriving: Waiting[] = [];
  let first: Waiting[] = [];

  function enter(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        entry.isGone = true;
        reject(signal?.reason);
      };
      const entry: Waiting = {
        go() {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
        isGone: false,
      };
      arriving.push(entry);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  function takeFirst(): Waiting | undefined {
    if (first.length === 0) first = arriving.splice(0).toReversed();
    return first.pop();
  }

  function exit(): void {
    let next = takeFirst();
    while (next?.isGone) next = takeFirst();
    if (next) next.go();
    else free += 1;
  }

  return async (signal, work) => {
    signal?.throwIfAborted();
    if (free > 0) free -= 1;
    else await enter(signal);
    try {
      return await work();
    } finally {
      exit();
    }
  };
}
