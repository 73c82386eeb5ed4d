import { randomUUID } from 'node:crypto';
import type { Capture } from './agui/capture.ts';
import type { Exchange } from './agui/exchange.ts';
import {
  exchangeKind,
  readLeadingThreadId,
  readRunHead,
  readThreadId,
  type RunHead,
  unreadRequest,
} from './agui/input.ts';
import { outlineRequest } from './agui/outline-request.ts';
import { type ReadBounds, readCapture } from './agui/read-capture.ts';
import type { ThreadKey } from './conversation/conversation.ts';
import type { MergeKind } from './conversation/merge-runs.ts';
import { createBag } from './lib/bag.ts';
import type { Gathering } from './lib/gathering.ts';
import { parseJson } from './lib/json.ts';
import { createLimit } from './lib/limit.ts';
import type { Observe, ProxiedRequest, RequestEnd } from './proxy/observer.ts';
import { unitHash } from './sampling/hash.ts';
import type { Store } from './store/store.ts';
import type { Logger } from './telemetry/log.ts';
import type { ProxyMetrics } from './telemetry/proxy-metrics.ts';
import type { RunSpanFactory, RunSpans } from './telemetry/run-span.ts';

export interface ObserverOptions {
  readonly runSpans: RunSpanFactory;
  readonly prometheus: Pick<
    ProxyMetrics,
    'requestStarted' | 'requestClosed' | 'requestEnded' | 'recordExchange' | 'recordLeftOut'
  >;
  readonly store: Pick<Store, 'runBegan' | 'runSeen' | 'runEnded' | 'runMissed' | 'append'>;
  readonly bounds: ReadBounds;
  /**
   * Share of threads that are read, in [0, 1]: of each, all runs or none, since a conversation with gaps cannot be told
   * from a whole one. Below 1 an exchange is left out when neither request nor stream names a thread.
   */
  readonly share: number;
  /** Where copies wait to be read; each weighs what it may hold at most, in bytes. */
  readonly gathering: Gathering;
  readonly log: Pick<Logger, 'error'>;
}

export interface Observer {
  readonly observe: Observe;
  /** Resolves when every request that has ended is read and stored. */
  settled(): Promise<void>;
  /** Pieces of that work under way: at least one for each request that has ended and is not stored. */
  unsettled(): number;
  /** Requests that the sidecar cut because it stopped. */
  cut(): number;
}

/** A request under observation. */
interface Observed {
  readonly request: ProxiedRequest;
  readonly spans: RunSpans;
  /** The thread that the store was told of a run in, once it was. */
  readonly begun: Promise<ThreadKey | undefined>;
}

/** What is done about each proxied request beside forwarding it: spans, counts, and its exchange to the store. */
export function createObserver(options: ObserverOptions): Observer {
  const { runSpans, prometheus, store, bounds, share, gathering, log } = options;
  const unfinished = createBag<Promise<unknown>>();
  let cut = 0;
  // One at a time: each gives the event loop back after every step, and the steps of several would add up. What waits is
  // held within the bounds of the tap, and is read even while the sidecar stops.
  const reading = createLimit(1);

  /** Does one part of the work; when it fails, that is logged and the other parts go on. */
  async function attempt<Result>(
    { agent }: ProxiedRequest,
    failure: string,
    work: () => Result | Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      log.error({ error, agent }, failure);
      return undefined;
    }
  }

  async function begin(request: ProxiedRequest, head: RunHead | undefined): Promise<ThreadKey | undefined> {
    if (!head?.threadId || exchangeKind(request.agentPath, head, false) !== 'run') return undefined;
    const { agent, tenant } = request;
    const { threadId } = head;
    const key = tenant === undefined ? { agent, threadId } : { agent, tenant, threadId };
    await store.runBegan(key);
    return key;
  }

  function isInShare({ agent, tenant }: ProxiedRequest, threadId: string): boolean {
    return threadId !== '' && unitHash(['tap', agent, tenant ?? null, threadId]) < share;
  }

  /** The run is of a thread that is known, and not read. */
  function isLeftOut(request: ProxiedRequest, threadId = ''): boolean {
    return share < 1 && threadId !== '' && !isInShare(request, threadId);
  }

  async function finish({ request, spans, begun }: Observed, end: RequestEnd, capture?: Capture): Promise<void> {
    if (capture) await gathering.join(mostHeldBytes(end));
    const read =
      capture &&
      (await attempt(request, 'an exchange could not be read; the stream went on', async () => ({
        exchange: await reading(undefined, () => readCapture(capture, bounds)),
      })));
    const exchange = read?.exchange;
    prometheus.requestEnded(request, end, exchange);
    await attempt(request, 'the spans of a request could not be ended', () => spans.end(end, exchange));
    const key = await begun;
    if (key) await attempt(request, 'the end of a run could not be stored', () => store.runEnded(key));
    if (!exchange) {
      // A run, since it was answered, of which nothing was copied that names its thread; or one that could not be read.
      const mayBeRun = request.method === 'POST' && (end.status ?? 0) < 400;
      const isLost = capture && mayBeRun && (!read || capture.truncated);
      if (isLost) await store.runMissed(request.agent);
      return;
    }
    if (share < 1 && !isInShare(request, exchange.threadId)) {
      prometheus.recordLeftOut(request);
      return;
    }
    const isReplay = exchange.kind === 'run' && (await append(exchange)) === 'replayed';
    prometheus.recordExchange(isReplay ? { ...exchange, kind: 'replay' } : exchange);
  }

  /** An exchange in which nobody named a thread is a conversation of its own. */
  function append(exchange: Exchange): Promise<MergeKind> {
    return store.append(exchange.threadId === '' ? { ...exchange, threadId: randomUUID() } : exchange);
  }

  function track<Result>(work: Promise<Result>): Promise<Result> {
    void work.then(unfinished.add(work));
    return work;
  }

  return {
    observe(request) {
      const spans = runSpans.start(request);
      // Last of what may fail: a gauge that was raised must fall again.
      prometheus.requestStarted(request);
      // A thread that cannot be told from the request may show in the stream.
      let leftOut = false;
      let begun: Promise<ThreadKey | undefined> = Promise.resolve(undefined);
      return {
        trace: spans.trace,
        ...(spans.traceHeaders && { traceHeaders: spans.traceHeaders }),
        requested(body) {
          leftOut = share < 1 && isLeftOut(request, leadingThreadId(request, body));
          if (leftOut) return;
          const head = readHead(request, body);
          leftOut = isLeftOut(request, head?.threadId);
          if (leftOut) return;
          begun = track(attempt(request, 'the beginning of a run could not be stored', () => begin(request, head)));
        },
        ...(share < 1 && { wantsCopy: () => !leftOut }),
        streaming() {
          void track(
            attempt(request, 'a sign of life could not be stored', async () => {
              const key = await begun;
              if (key) await store.runSeen(key);
            }),
          );
        },
        finished(end, capture) {
          if (end.errorCode === 'shutting_down') cut += 1;
          // At once: what is still to be read of a request is no longer under way.
          prometheus.requestClosed(request);
          if (leftOut) prometheus.recordLeftOut(request);
          return track(
            attempt(request, 'an exchange could not be recorded', () =>
              finish({ request, spans, begun }, end, capture),
            ),
          );
        },
      };
    },
    async settled() {
      while (unfinished.size() > 0) {
        gathering.release();
        await Promise.all(unfinished.items());
      }
    },
    unsettled: unfinished.size,
    cut: () => cut,
  };
}

/** Of each body the first block of a copy, and then blocks that may be half empty, with times among bytes that came a few at a time. */
const mostHeldBytes = ({ requestBytes, responseBytes }: RequestEnd): number =>
  2 * 1024 + 4 * (requestBytes + responseBytes);

/** Room for a short thread id and what is before and behind it; a longer one is told by the whole. */
const BEGINNING_BYTES = 1024;

function leadingThreadId(request: ProxiedRequest, body: Uint8Array): string | undefined {
  return readLeadingThreadId(textOf(request, body.subarray(0, BEGINNING_BYTES)) ?? '');
}

/** What the body tells at a glance; one that was over a bound is here by its beginning. */
function readHead(request: ProxiedRequest, body: Uint8Array): RunHead | undefined {
  const text = textOf(request, body);
  if (text === undefined) return undefined;
  const outline = outlineRequest(text);
  // Not worth more than a glance. A name of a thread from anywhere in it would be a guess.
  if (outline === '') return undefined;
  const whole = readRunHead(parseJson(outline));
  if (whole) return whole;
  const threadId = readThreadId(text);
  return threadId === undefined ? undefined : unreadRequest(threadId);
}

/** A body under a Content-Encoding, which AG-UI clients do not send, is not looked into before its exchange is read. */
function textOf({ headers }: ProxiedRequest, body: Uint8Array): string | undefined {
  const isEncoded = (headers['content-encoding'] ?? 'identity') !== 'identity';
  return isEncoded ? undefined : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}
