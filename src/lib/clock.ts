import { performance } from 'node:perf_hooks';

/** Time as an argument, so that everything that waits can be tested on a virtual clock. */
export interface Clock {
  /** Epoch milliseconds, fractional, never going back. */
  now(): number;
  /** Runs `task` once, `delayMs` from now. The returned function cancels it. */
  schedule(delayMs: number, task: () => void): () => void;
}

/** The longest delay a Node timer takes before it fires at once; longer ones are waited for in steps. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const { timeOrigin } = performance;

export const systemClock: Clock = {
  now: () => timeOrigin + performance.now(),
  schedule(delayMs, task) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      const stepMs = Math.min(leftMs, LONGEST_DELAY_MS);
      timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : task()), stepMs);
    };
    arm(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};
