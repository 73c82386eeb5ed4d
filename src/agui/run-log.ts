import type { TransportEnd } from './capture.ts';
import type { RunFailed, RunFinished, RunStarted } from './events.ts';
import type { Ending, Run } from './exchange.ts';
import { sumUsage } from './usage.ts';

/** How the reading of a stream came to its end: as the transport did, or before it, so that the rest is `unread`. */
export type StreamEnd = TransportEnd | 'unread';

/** A run while its stream is being read. `ending` is absent until a terminal event. */
export interface OpenRun {
  /** 1 for the first of the stream. */
  readonly number: number;
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId: string | undefined;
  ending?: Ending;
  usage: Run['usage'];
  error?: NonNullable<Run['error']>;
  /** A CUSTOM `on_interrupt` was seen: producers that use it finish without an outcome. */
  interrupted: boolean;
  /** A RUN_CANCELLED was seen. */
  cancelled: boolean;
  /** It stands for a RUN_STARTED that did not come. */
  readonly implicit: boolean;
}

export const openRun = (
  number: number,
  ids: Pick<RunStarted, 'threadId' | 'runId' | 'parentRunId'>,
  implicit: boolean,
): OpenRun => ({
  number,
  threadId: ids.threadId,
  runId: ids.runId,
  parentRunId: ids.parentRunId,
  usage: null,
  interrupted: false,
  cancelled: false,
  implicit,
});

export function finishRun(run: OpenRun, event: RunFinished): void {
  const noticed = run.cancelled ? 'cancelled' : run.interrupted ? 'interrupt' : 'success';
  run.ending = event.outcome === 'success' ? noticed : event.outcome;
  run.usage = event.usage;
}

/** A failure, also one reported after the run had finished. Both events may state usage; together they are the run's. */
export function failRun(run: OpenRun, event: RunFailed): void {
  run.ending = 'run_error';
  run.usage = sumUsage([run.usage, event.usage]);
  run.error = event.code === undefined ? { message: event.message } : { message: event.message, code: event.code };
}

/**
 * The run's ending in the light of how the stream ended. Only the last run of a stream can be hit by that: a client that
 * left wins over whatever was sent, a reset over a finish the client never saw end cleanly, and neither over the run's
 * own failure report.
 */
export function endingOf(run: OpenRun, isLast: boolean, end: StreamEnd): Ending {
  if (isLast && end === 'client_aborted') return 'client_aborted';
  if (isLast && end === 'upstream_error' && run.ending !== 'run_error') return 'upstream_error';
  return run.ending ?? (run.cancelled ? 'cancelled' : 'truncated');
}

export function toRun(run: OpenRun, ending: Ending): Run {
  const { threadId, runId, parentRunId, usage, error } = run;
  return {
    threadId,
    runId,
    ...(parentRunId === undefined ? {} : { parentRunId }),
    ending,
    usage,
    ...(error === undefined ? {} : { error }),
  };
}
