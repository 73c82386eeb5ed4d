import type { Exchange } from '../agui/exchange.ts';
import type { ThreadKey } from '../conversation/conversation.ts';
import type { MergeKind } from '../conversation/merge-runs.ts';
import type { Closing } from '../conversation/threads.ts';
import type { Admission } from '../lib/admission.ts';
import type { ScoringJob } from '../scoring/scorecard.ts';

/** Does one job. Rejects only when `signal` aborts, and soon after it: what goes on is given up. */
export type Work = (job: ScoringJob, signal: AbortSignal) => Promise<void>;

interface StoreStats {
  /** Threads that have not closed yet. */
  readonly openThreads: number;
  /** Jobs that wait. */
  readonly queued: number;
  /** Jobs that may wait before the oldest is shed. */
  readonly capacity: number;
  /** Jobs being worked on. */
  readonly inFlight: number;
}

/** What the store tells: each call is one fact that has to be counted. */
export interface StoreEvents {
  /** A conversation closed. Called exactly once per closing. */
  onClosing(closing: Closing): void;
  /**
   * A job that was taken will not be done: the queue was full, or the process stops. `cause`, which is a defect: what the
   * work threw when nobody had stopped it, or that it did not stop when it was told to.
   */
  onDropped(job: ScoringJob, why: 'shed' | 'expired', cause?: unknown): void;
}

export interface ConsumeOptions {
  /** Most jobs at once. */
  readonly concurrency: number;
  /** Asked before each job; jobs that are not admitted wait. */
  readonly admission: () => Admission;
}

/**
 * The one seam to durability and to other processes: threads that wait to close, jobs that wait to be scored. What
 * crosses it is plain JSON.
 */
export interface Store {
  /** A run of the thread began; the thread does not close before {@link Store.runEnded}. */
  runBegan(key: ThreadKey): Promise<void>;
  /** The run sent something; may be told as seldom as once a second. */
  runSeen(key: ThreadKey): Promise<void>;
  /** The run ended, whether or not an exchange follows. Comes before {@link Store.append}. */
  runEnded(key: ThreadKey): Promise<void>;
  /** A run of the agent could not be seen at all: any of the agent's threads may lack it. */
  runMissed(agent: string): Promise<void>;
  append(exchange: Exchange): Promise<MergeKind>;
  /** `duplicate`: a job of this id was taken before; it is not done twice. */
  offer(job: ScoringJob): Promise<'queued' | 'duplicate'>;
  /** Starts to work off jobs. May be called once. */
  consume(work: Work, options: ConsumeOptions): void;
  stats(): StoreStats;
  /**
   * Closes all open threads, works on jobs, those of the closings included, until `graceMs` have passed, then aborts
   * what is left and gives up what has not ended a second later. Every thread and job is accounted for through
   * {@link StoreEvents} when it resolves. Idempotent.
   */
  close(graceMs: number): Promise<void>;
}
