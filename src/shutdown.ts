import type { AdminListener } from './admin/listener.ts';
import type { Readiness } from './admin/readiness.ts';
import type { Config } from './config/config.ts';
import type { Evaluation } from './evaluation.ts';
import type { Clock } from './lib/clock.ts';
import type { Observer } from './observation.ts';
import type { ProxyServer } from './proxy/server.ts';
import type { Logger } from './telemetry/log.ts';
import type { Telemetry } from './telemetry/sdk.ts';

/** What stops, in the order in which it does. */
export interface ShutdownParts {
  readonly readiness: Readiness;
  readonly proxy: Pick<ProxyServer, 'accepted' | 'startDraining' | 'close'>;
  readonly observer: Pick<Observer, 'settled' | 'unsettled' | 'cut'>;
  readonly evaluation: Pick<Evaluation, 'close'>;
  readonly telemetry: Pick<Telemetry, 'shutdown'>;
  readonly admin: Pick<AdminListener, 'stop'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/**
 * Once readiness was seen to fail, so long nobody must have come before the listener closes: who directs traffic needs a
 * moment to act, and some of them (endpoints of a cluster) act one after the other.
 */
const QUIET_MS = 1000;

/** What was copied of streams is at most `tap.max_total` and read in a second or two, unless the machine has no time. */
const READING_MS = 10_000;

/** Streams may have used up the grace. A metric takes two answers of the judge, one after the other, in about this time. */
const LEAST_SCORING_GRACE_MS = 5000;

/** What work that was told to stop, and the judge behind it, may take to do so. Longer only by a defect. */
const LEAVING_MS = 2000;

/** What a collector that does not answer may take of the stop. */
export const TELEMETRY_MS = 5000;

/** What is left to do behind that: listeners and files are closed, last lines written. */
const LAST_MS = 5000;

/** The grace is for streams. The rest of the stop takes at most so long after it. */
export const LONGEST_AFTER_GRACE_MS = READING_MS + LEAST_SCORING_GRACE_MS + LEAVING_MS + TELEMETRY_MS + LAST_MS;

/**
 * Stops the sidecar without losing anything: readiness fails first and the listener closes later, streams come to their
 * ends or to that of the grace, what was copied of them is read, and what was said is judged or counted. Probes and metrics
 * are served to the last. Nothing here waits for ever: not for a stream, a judge, a collector or a defect.
 */
export async function shutDown(parts: ShutdownParts, { delayMs, graceMs }: Config['shutdown']): Promise<void> {
  const { readiness, proxy, observer, evaluation, telemetry, admin, clock, log } = parts;
  const deadline = clock.now() + graceMs;
  const left = () => Math.max(0, deadline - clock.now());

  readiness.become('draining');
  proxy.startDraining();
  await farewell(parts, delayMs);
  log.info({ graceMs: Math.round(left()) }, 'no connection is taken any more; open streams may end');
  await proxy.close({ graceMs: left() });
  const cut = observer.cut();
  if (cut > 0) log.warn({ requests: cut }, 'requests were still open at the end of the grace and were reset');
  if (!(await within(READING_MS, observer.settled(), clock))) {
    log.error({ unsettled: observer.unsettled() }, 'requests were not read in time and are lost');
  }
  const scoringGraceMs = Math.max(LEAST_SCORING_GRACE_MS, left());
  if (!(await within(scoringGraceMs + LEAVING_MS, evaluation.close(scoringGraceMs), clock))) {
    log.error('judging did not end when it was told to and is left alone; this is a defect');
  }
  await telemetry.shutdown();
  await admin.stop();
}

/**
 * Resolves when the listener may close: when readiness was seen to fail and nobody has come for a while, or `delayMs` after
 * the call. At once when nobody has ever asked for readiness: then there is nobody to tell.
 */
function farewell({ readiness, proxy, clock }: ShutdownParts, delayMs: number): Promise<void> {
  if (delayMs === 0 || !readiness.isWatched) return Promise.resolve();
  const isQuiet = async (): Promise<void> => {
    await readiness.failureSeen;
    for (let before = -1; before !== proxy.accepted();) {
      before = proxy.accepted();
      await new Promise<void>((resolve) => void clock.schedule(QUIET_MS, resolve));
    }
  };
  return within(delayMs, isQuiet(), clock).then(() => undefined);
}

/** Whether `work` is done within the time; resolves at the latest when that is over. */
function within(timeMs: number, work: Promise<void>, clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(timeMs, () => resolve(false));
    work.then(() => resolve(true), reject).finally(cancel);
  });
}
