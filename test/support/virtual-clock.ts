import type { Clock } from '../../src/lib/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on and runs every task that falls due, in order. */
  advance(byMs: number): void;
}

/** A clock that moves only when it is told to. */
export function virtualClock(startAt = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = startAt;
  let tasks: { readonly at: number; readonly task: () => void }[] = [];
  return {
    now: () => now,
    schedule(delayMs, task) {
      const entry = { at: now + Math.max(0, delayMs), task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((other) => other !== entry);
      };
    },
    advance(byMs) {
      const until = now + byMs;
      for (;;) {
        const [next] = tasks.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
        if (!next) break;
        tasks = tasks.filter((other) => other !== next);
        now = Math.max(now, next.at);
        next.task();
      }
      now = until;
    },
  };
}
