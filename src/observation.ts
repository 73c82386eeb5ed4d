import { randomUUID } from 'node:crypto';
import type { Capture } from './agui/capture.ts';
import type { Exchange } from './agui/exchange.ts';
import { readRunRequest } from './agui/input.ts';
import { type ReadBounds, readCapture } from './agui/read-capture.ts';
import type { ThreadKey } from './conversation/conversation.ts';
import type { MergeKind } from './conversation/merge-runs.ts';
import { parseJson } from './lib/json.ts';
import type { Observe, ProxiedRequest, RequestEnd } from './proxy/observer.ts';
import type { Store } from './store/store.ts';
import type { Logger } from './telemetry/log.ts';
import type { Prometheus } from './telemetry/prometheus.ts';
import type { RunSpanFactory, RunSpans } from './telemetry/run-span.ts';

export interface ObserverOptions {
  readonly runSpans: RunSpanFactory;
  readonly prometheus: Prometheus;
  readonly store: Store;
  readonly bounds: ReadBounds;
  readonly log: Logger;
}

export interface Observer {
  readonly observe: Observe;
  /** Resolves when every request that has ended is read and stored. */
  settled(): Promise<void>;
}

/** What is done about each proxied request beside forwarding it: spans, counts, and its exchange to the store. */
export function createObserver({ runSpans, prometheus, store, bounds, log }: ObserverOptions): Observer {
  const unfinished = new Set<Promise<unknown>>();

  async function begin({ agent, tenant }: ProxiedRequest, body: Uint8Array): Promise<ThreadKey | undefined> {
    const threadId = readRunRequest(parseJson(Buffer.from(body).toString('utf8')))?.threadId;
    if (!threadId) return undefined;
    const key = tenant === undefined ? { agent, threadId } : { agent, tenant, threadId };
    await store.runBegan(key);
    return key;
  }

  async function finish(
    request: ProxiedRequest,
    spans: RunSpans,
    begun: Promise<ThreadKey | undefined>,
    end: RequestEnd,
    capture?: Capture,
  ): Promise<void> {
    const exchange = capture && (await read(capture));
    spans.end(end, exchange);
    prometheus.requestEnded(request, end, exchange);
    const key = await begun;
    if (key) await store.runEnded(key);
    if (!exchange) return;
    const isReplay = exchange.kind === 'run' && (await append(exchange)) === 'replayed';
    prometheus.recordExchange(isReplay ? { ...exchange, kind: 'replay' } : exchange);
  }

  /** An exchange in which nobody named a thread is a conversation of its own. */
  function append(exchange: Exchange): Promise<MergeKind> {
    return store.append(exchange.threadId === '' ? { ...exchange, threadId: randomUUID() } : exchange);
  }

  async function read(capture: Capture): Promise<Exchange | undefined> {
    try {
      return await readCapture(capture, bounds);
    } catch (error) {
      log.error({ error, agent: capture.agent }, 'an exchange could not be read; the stream went on');
      return undefined;
    }
  }

  function track(work: Promise<unknown>): void {
    const settled = work.catch((error: unknown) => log.error({ error }, 'an exchange could not be recorded'));
    unfinished.add(settled);
    void settled.then(() => unfinished.delete(settled));
  }

  return {
    observe(request) {
      prometheus.requestStarted(request);
      const spans = runSpans.start(request);
      let begun: Promise<ThreadKey | undefined> = Promise.resolve(undefined);
      return {
        trace: spans.trace,
        ...(spans.traceHeaders && { traceHeaders: spans.traceHeaders }),
        requested(body) {
          begun = begin(request, body);
          track(begun);
        },
        finished(end, capture) {
          track(finish(request, spans, begun, end, capture));
        },
      };
    },
    async settled() {
      while (unfinished.size > 0) await Promise.all(unfinished);
    },
  };
}
