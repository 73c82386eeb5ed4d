import { charactersOf, type Closing, Threads, type ThreadsOptions } from '../conversation/threads.ts';
import type { Clock } from '../lib/clock.ts';
import { createInOrder } from '../lib/in-order.ts';
import { paced } from '../lib/steps.ts';
import type { ScoringJob } from '../scoring/scorecard.ts';
import type { ConsumeOptions, Store, StoreEvents, Work } from './store.ts';

export interface MemoryStoreOptions {
  readonly threads: ThreadsOptions;
  /** Jobs that may wait before the oldest is shed. Their messages may together have as many characters as those of threads. */
  readonly capacity: number;
  readonly clock: Clock;
  readonly events: StoreEvents;
}

/** A job that is being worked on. */
interface InFlight {
  readonly job: ScoringJob;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** What work that was told to stop may take to do so. Longer only by a defect, for which a stop does not wait. */
const LEAVING_MS = 1000;

/** A store that lives and dies with the process. Bounded: it sheds the oldest job and says so. */
export function createMemoryStore({ threads: options, capacity, clock, events }: MemoryStoreOptions): Store {
  const threads = new Threads(options);
  // A long conversation is merged in steps. What would change it waits until it is whole again.
  const inOrder = createInOrder();
  // A map keeps the order of arrival and knows ids: both ends of the queue and duplicates in one structure.
  const queue = new Map<string, ScoringJob>();
  let queuedCharacters = 0;
  const inFlight = new Map<string, InFlight>();
  const stop = new AbortController();
  let consumer: (ConsumeOptions & { readonly work: Work }) | undefined;
  let cancelRetry: (() => void) | undefined;
  let cancelTimer: (() => void) | undefined;
  let wakesAt = Infinity;
  const shortestWaitMs = Math.min(options.idleMs, options.waitingMs, options.openRunMs);
  let tellIdle: (() => void) | undefined;
  let isClosing = false;
  let hasGivenUp = false;
  let closed: Promise<void> | undefined;

  /** Sees to it that a timer fires by the time the next thread is due; one that fires sooner than that is left to. */
  function arm(): void {
    if (isClosing || wakesAt <= clock.now() + shortestWaitMs) return;
    const dueAt = threads.nextDueAt();
    if (dueAt === undefined || wakesAt <= dueAt) return;
    cancelTimer?.();
    wakesAt = dueAt;
    cancelTimer = clock.schedule(dueAt - clock.now(), () => void closeDue());
  }

  async function closeDue(): Promise<void> {
    wakesAt = Infinity;
    await inOrder(() => {
      tellAll(threads.closeDue(clock.now()));
      arm();
    });
  }

  function tellAll(closings: readonly Closing[]): void {
    for (const closing of closings) events.onClosing(closing);
  }

  function pump(): void {
    cancelRetry?.();
    if (!consumer || stop.signal.aborted) return;
    for (const [id, job] of queue) {
      const { limit, askAgainAt } = consumer.admission();
      if (limit === 0 && askAgainAt !== undefined) cancelRetry = clock.schedule(askAgainAt - clock.now(), pump);
      if (inFlight.size >= Math.min(limit, consumer.concurrency)) return;
      takeOut(job);
      // A controller each: the listeners of one for all would be kept alive by each other (see followAbort).
      const controller = new AbortController();
      inFlight.set(id, { job, controller, done: run(consumer.work, job, controller.signal) });
    }
  }

  function takeOut(job: ScoringJob): void {
    queue.delete(job.id);
    queuedCharacters -= charactersOf(job.messages);
  }

  const isOver = (): boolean => queue.size > capacity || queuedCharacters > options.maxCharacters;

  async function run(work: Work, job: ScoringJob, signal: AbortSignal): Promise<void> {
    try {
      await work(job, signal);
    } catch (error) {
      if (hasGivenUp) return;
      if (stop.signal.aborted) events.onDropped(job, 'expired');
      else events.onDropped(job, 'expired', error);
    } finally {
      inFlight.delete(job.id);
      pump();
      if (isIdle()) tellIdle?.();
    }
  }

  const isIdle = (): boolean => queue.size === 0 && inFlight.size === 0;

  /** Resolves once no job waits and none is under way. */
  function idle(): Promise<void> {
    if (isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      tellIdle = resolve;
    });
  }

  async function drain(graceMs: number): Promise<void> {
    isClosing = true;
    cancelTimer?.();
    const allClosed = inOrder(() => tellAll(threads.closeAll(clock.now())));
    const cancelDeadline = clock.schedule(graceMs, () => {
      stop.abort(new Error('the store is closing'));
      for (const { controller } of inFlight.values()) controller.abort(stop.signal.reason);
    });
    await allClosed;
    if (!consumer) stop.abort(new Error('nobody works off the jobs'));
    await Promise.race([idle(), aborted(stop.signal)]);
    cancelDeadline();
    cancelRetry?.();
    for (const job of queue.values()) events.onDropped(job, 'expired');
    queue.clear();
    queuedCharacters = 0;
    await left();
  }

  /** Resolves once nothing is under way any more; work that does not end although it was told to is given up. */
  async function left(): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const cancel = clock.schedule(LEAVING_MS, resolve);
    await Promise.race([isLate, Promise.all([...inFlight.values()].map(({ done }) => done))]);
    cancel();
    hasGivenUp = true;
    const cause = new Error(`the work on this job went on for ${LEAVING_MS} ms after it was told to stop`);
    for (const { job } of inFlight.values()) events.onDropped(job, 'expired', cause);
    inFlight.clear();
  }

  return {
    async runBegan(key) {
      threads.runBegan(key, clock.now());
      arm();
    },
    async runSeen(key) {
      threads.runSeen(key, clock.now());
    },
    async runEnded(key) {
      threads.runEnded(key, clock.now());
      arm();
    },
    async runMissed(agent) {
      await inOrder(() => threads.runMissed(agent));
    },
    async append(exchange) {
      return inOrder(async () => {
        const merged = await paced(threads.merging(exchange));
        tellAll(threads.append(merged, clock.now()));
        arm();
        return merged.kind;
      });
    },
    async offer(job) {
      if (queue.has(job.id) || inFlight.has(job.id)) return 'duplicate';
      queue.set(job.id, job);
      queuedCharacters += charactersOf(job.messages);
      for (const oldest of queue.values()) {
        // One that alone is over the bound waits all the same: its thread was held, too.
        if (!isOver() || queue.size === 1) break;
        takeOut(oldest);
        // Of what a stop offers at once, more than fits was never going to be reached.
        events.onDropped(oldest, isClosing ? 'expired' : 'shed');
      }
      pump();
      return 'queued';
    },
    consume(work, limits) {
      consumer = { work, ...limits };
      pump();
    },
    stats: () => ({ openThreads: threads.open, queued: queue.size, capacity, inFlight: inFlight.size }),
    close: (graceMs) => (closed ??= drain(graceMs)),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
