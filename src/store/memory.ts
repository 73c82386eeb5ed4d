import { Threads, type ThreadsOptions } from '../conversation/threads.ts';
import type { Clock } from '../lib/clock.ts';
import type { ScoringJob } from '../scoring/scorecard.ts';
import type { Store, StoreEvents, Work } from './store.ts';

export interface MemoryStoreOptions {
  readonly threads: ThreadsOptions;
  /** Jobs that may wait before the oldest is shed. */
  readonly capacity: number;
  readonly clock: Clock;
  readonly events: StoreEvents;
}

/** A store that lives and dies with the process. Bounded: it sheds the oldest job and says so. */
export function createMemoryStore({ threads: options, capacity, clock, events }: MemoryStoreOptions): Store {
  const threads = new Threads(options);
  // A map keeps the order of arrival and knows ids: both ends of the queue and duplicates in one structure.
  const queue = new Map<string, ScoringJob>();
  const inFlight = new Map<string, Promise<void>>();
  const stop = new AbortController();
  let consumer: { readonly work: Work; readonly concurrency: number } | undefined;
  let cancelTimer: (() => void) | undefined;
  let closing: Promise<void> | undefined;

  function arm(): void {
    cancelTimer?.();
    const dueAt = threads.nextDueAt();
    cancelTimer = dueAt === undefined || closing ? undefined : clock.schedule(dueAt - clock.now(), closeDue);
  }

  function closeDue(): void {
    for (const closed of threads.closeDue(clock.now())) events.onClosing(closed);
    arm();
  }

  function pump(): void {
    if (!consumer || stop.signal.aborted) return;
    for (const [id, job] of queue) {
      if (inFlight.size >= consumer.concurrency) return;
      queue.delete(id);
      inFlight.set(id, run(consumer.work, job));
    }
  }

  async function run(work: Work, job: ScoringJob): Promise<void> {
    try {
      await work(job, stop.signal);
    } catch {
      events.onDropped(job, 'expired');
    } finally {
      inFlight.delete(job.id);
      pump();
    }
  }

  async function drain(graceMs: number): Promise<void> {
    cancelTimer?.();
    for (const closed of threads.closeAll(clock.now())) events.onClosing(closed);
    const cancelDeadline = clock.schedule(graceMs, () => stop.abort(new Error('the store is closing')));
    if (!consumer) stop.abort(new Error('nobody works off the jobs'));
    while ((queue.size > 0 || inFlight.size > 0) && !stop.signal.aborted) {
      await Promise.race([...inFlight.values(), aborted(stop.signal)]);
    }
    cancelDeadline();
    for (const job of queue.values()) events.onDropped(job, 'expired');
    queue.clear();
    await Promise.all(inFlight.values());
  }

  return {
    async runBegan(key) {
      threads.runBegan(key, clock.now());
      arm();
    },
    async runEnded(key) {
      threads.runEnded(key, clock.now());
      arm();
    },
    async append(exchange) {
      const { kind, evicted } = threads.append(exchange, clock.now());
      for (const closed of evicted) events.onClosing(closed);
      arm();
      return kind;
    },
    async offer(job) {
      if (queue.has(job.id) || inFlight.has(job.id)) return 'duplicate';
      queue.set(job.id, job);
      const oldest = queue.values().next().value;
      if (queue.size > capacity && oldest) {
        queue.delete(oldest.id);
        events.onDropped(oldest, 'shed');
      }
      pump();
      return 'queued';
    },
    consume(work, { concurrency }) {
      consumer = { work, concurrency };
      pump();
    },
    stats: () => ({ openThreads: threads.open, queued: queue.size, capacity, inFlight: inFlight.size }),
    close: (graceMs) => (closing ??= drain(graceMs)),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
