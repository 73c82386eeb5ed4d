import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Watches how late the event loop runs what is due. */
export interface LoopDelay extends Disposable {
  /** True while it runs later than it may. */
  isHigh(): boolean;
}

/** Node measures by a timer of this period, and includes it in what it reports. */
const RESOLUTION_MS = 10;
const WINDOW_MS = 1_000;

/**
 * Starts to watch. The delay is high once its 99th percentile was over `limitMs` in each of two windows of a second, and no
 * longer high once it was not in two: one pause, for garbage or a large parse, is no load.
 */
export function watchLoopDelay(limitMs: number): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const isHigh = createPersistence();
  let high = false;
  const timer = setInterval(() => {
    high = isHigh(histogram.percentile(99) / 1e6 - RESOLUTION_MS > limitMs);
    histogram.reset();
  }, WINDOW_MS).unref();
  histogram.enable();
  return {
    isHigh: () => high,
    [Symbol.dispose]() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

/** Follows a reading that comes and goes: what it gives changes only when two readings in a row agree. It begins with false. */
export function createPersistence(): (reading: boolean) => boolean {
  let before = false;
  let settled = false;
  return (reading) => {
    if (reading === before) settled = reading;
    before = reading;
    return settled;
  };
}
