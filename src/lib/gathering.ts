import type { Clock } from './clock.ts';

/** Lets pieces of work wait for each other, so that they are done together. */
export interface Gathering {
  /** Resolves when the work is due; absent when it is due at once. `weight`: what it holds while it waits. */
  readonly join: (weight: number) => Promise<void> | undefined;
  /** Makes all that waits due. What comes later waits again. */
  readonly release: () => void;
}

export interface GatheringOptions {
  /** The longest that one waits, in ms. 0: nothing waits. */
  readonly delayMs: number;
  /** So many that wait are due. */
  readonly most: number;
  /** As soon as those that wait weigh as much, they are due. */
  readonly mostWeight: number;
  readonly clock: Pick<Clock, 'schedule'>;
}

export function createGathering({ delayMs, most, mostWeight, clock }: GatheringOptions): Gathering {
  let waiting: (() => void)[] = [];
  let weightWaiting = 0;
  let cancel: (() => void) | undefined;

  function release(): void {
    cancel?.();
    cancel = undefined;
    const due = waiting;
    waiting = [];
    weightWaiting = 0;
    for (const go of due) go();
  }

  return {
    join(weight) {
      if (delayMs === 0) return undefined;
      return new Promise((resolve) => {
        waiting.push(resolve);
        weightWaiting += weight;
        if (waiting.length >= most || weightWaiting >= mostWeight) release();
        else cancel ??= clock.schedule(delayMs, release);
      });
    },
    release,
  };
}
