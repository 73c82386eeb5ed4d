import { validateHeaderName, validateHeaderValue, type IncomingMessage } from 'node:http';
import type { Capture, TransportEnd } from '../agui/capture.ts';
import { AG_UI_STREAM_TYPES, mediaType } from '../lib/media-type.ts';
import type { ProxyErrorCode } from './errors.ts';
import { type CopiedBodies, ExchangeCopy, type ExchangeCopyOptions } from './exchange-copy.ts';
import { clientAddress } from './headers.ts';
import type { Observation, Observe, RequestEnd } from './observer.ts';
import type { Route } from './route.ts';
import { REQUEST_HEAD_BYTES } from './tap.ts';
import type { Upstream } from './upstream.ts';

/** Everything that is noted of one request on its way. No method throws: what fails here is reported and forgotten. */
export interface ExchangeRecord {
  /** Headers that replace the client's trace context; absent: the client's pass unchanged. */
  readonly traceHeaders: Readonly<Record<string, string>> | undefined;
  /** The agent's request was started. */
  readonly asked: () => void;
  /** The agent's response head arrived. */
  readonly head: (incoming: IncomingMessage) => void;
  /** A chunk was forwarded to the agent. */
  readonly requestChunk: (chunk: Uint8Array) => void;
  /** The client's body was received to its end. */
  readonly requestReceived: () => void;
  /** What lies in `ranges` of `bytes` was forwarded to the client: the first `found` entries are start and end of each piece in turn. */
  readonly responseChunk: (bytes: Buffer, ranges: readonly number[], found: number) => void;
  /** Why the response is not the agent's own, whole; the first cause stands. */
  readonly failed: (code: ProxyErrorCode) => void;
  /**
   * The client's side is closed: tells the observer once, after the stream's own work is done. `status`: what the client
   * was sent, if anything; `whole`: up to its last byte.
   */
  readonly closed: (status: number | undefined, whole: boolean) => void;
}

export interface RecordOptions extends ExchangeCopyOptions {
  readonly observe: Observe;
  readonly tenantHeader?: string;
  readonly now: () => number;
  readonly onFault: (fault: unknown) => void;
}

/** @param onTold the observer has been told the end, or could not be. */
export function openRecord(
  request: IncomingMessage,
  route: Route<Upstream>,
  options: RecordOptions,
  onTold: () => void,
): ExchangeRecord {
  const { observe, tenantHeader, now, onFault } = options;
  const report = (fault: unknown) => reportTo(onFault, fault);
  const copy = new ExchangeCopy(options, report);
  let observation: Observation | undefined;
  let traceHeaders: Readonly<Record<string, string>> | undefined;
  let incoming: IncomingMessage | undefined;
  let startedAt = 0;
  let askedAt: number | undefined;
  let headAt: number | undefined;
  let firstByteAt: number | undefined;
  let toldStreamingMs = -STREAMING_INTERVAL_MS;
  let requestBytes = 0;
  let responseBytes = 0;
  let errorCode: ProxyErrorCode | undefined;
  let isReceived = false;
  let isDecided = false;
  /** Nothing is added to the copy, which is lent to the observer: an upload may go on behind an early answer. */
  let isClosed = false;

  function guard(work: () => void): void {
    try {
      work();
    } catch (fault) {
      report(fault);
    }
  }

  /** Asks the observer whether it wants the copy; one that fails to say so gets none. */
  function decide(): void {
    if (isDecided || !copy.isOpen) return;
    isDecided = true;
    let isWantedCopy = false;
    guard(() => {
      isWantedCopy = observation?.wantsCopy?.() ?? true;
    });
    // What is not wanted is not missing, so nothing of it is counted as dropped.
    if (!isWantedCopy) copy.release();
  }

  guard(() => {
    startedAt = now();
    const address = clientAddress(request);
    const { localPort } = request.socket;
    const tenant = tenantOf(request);
    observation = observe({
      agent: route.agent.name,
      match: route.agent.match,
      method: request.method ?? '',
      path: route.path,
      agentPath: route.agentPath,
      scheme: 'http',
      httpVersion: request.httpVersion,
      headers: request.headers,
      ...(tenant !== undefined && { tenant }),
      ...(address !== undefined && { clientAddress: address }),
      ...(localPort !== undefined && { localPort }),
      upstream: { host: route.agent.host, port: route.agent.port },
      startedAt,
    });
    traceHeaders = sendable(observation.traceHeaders);
  });

  function tenantOf({ headers }: IncomingMessage): string | undefined {
    return tenantHeader === undefined ? undefined : textOf(headers[tenantHeader]);
  }

  /** Resolves when the observer is done with the copy. */
  async function deliver(transport: TransportEnd, status: number | undefined): Promise<void> {
    const endedAt = now();
    const end: RequestEnd = {
      transport,
      ...(status !== undefined && { status }),
      ...(errorCode !== undefined && { errorCode }),
      ...(headAt !== undefined && { headAt }),
      ...(firstByteAt !== undefined && { firstByteAt }),
      endedAt,
      overheadMs: (askedAt ?? endedAt) - startedAt,
      requestBytes,
      responseBytes,
    };
    // Before a head came, only a JSON POST can have been a run.
    if (!incoming && !isJsonPost(request)) copy.release();
    decide();
    const bodies = copy.bodies(startedAt);
    const capture = bodies && observation ? captured(bodies, observation, transport, endedAt) : undefined;
    copy.countOmissions();
    await observation?.finished(end, capture);
  }

  function captured(
    { requestBody, requestHead, responseBody, truncated }: CopiedBodies,
    { trace }: Observation,
    transport: TransportEnd,
    endedAt: number,
  ): Capture {
    const tenant = tenantOf(request);
    // The rest may come behind an early answer, and half of a body says no more than its beginning.
    const isCut = incoming !== undefined && !isReceived;
    const head = requestHead ?? (isCut ? requestBody?.subarray(0, REQUEST_HEAD_BYTES) : undefined);
    return {
      agent: route.agent.name,
      ...(tenant !== undefined && { tenant }),
      method: request.method ?? '',
      path: route.agentPath,
      request: {
        ...contentOf(request),
        ...(requestBody && !isCut && { body: requestBody }),
        ...(head && { head }),
      },
      ...(incoming && {
        response: {
          status: incoming.statusCode ?? 0,
          ...contentOf(incoming),
          body: responseBody,
        },
      }),
      truncated: truncated || isCut,
      transport,
      startedAt,
      endedAt,
      trace,
    };
  }

  return {
    traceHeaders,
    asked: () =>
      guard(() => {
        askedAt ??= now();
      }),
    head(response) {
      incoming = response;
      if (!isClosed && !isWanted(request, response)) copy.release();
      guard(() => {
        headAt = now();
      });
    },
    requestChunk(chunk) {
      requestBytes += chunk.length;
      if (!isClosed) copy.request(chunk);
    },
    requestReceived() {
      if (isClosed) return;
      isReceived = true;
      if (!copy.isOpen) return;
      setImmediate(() => {
        const body = isJsonPost(request) ? copy.requestBeginning() : undefined;
        if (body) guard(() => observation?.requested?.(body));
        decide();
      });
    },
    responseChunk(bytes, ranges, found) {
      for (let at = 0; at < found; at += 2) responseBytes += ranges[at + 1]! - ranges[at]!;
      if (isClosed || (firstByteAt !== undefined && !copy.isOpen)) return;
      try {
        const arrivedAt = now();
        firstByteAt ??= arrivedAt;
        if (!copy.isOpen) return;
        // In 32 bits: 49 days, and what comes later counts as then.
        const ms = Math.min(arrivedAt - startedAt, 2 ** 32 - 1) >>> 0;
        for (let at = 0; at < found; at += 2) copy.response(bytes, ranges[at]!, ranges[at + 1]!, ms);
        if (ms - toldStreamingMs < STREAMING_INTERVAL_MS) return;
        toldStreamingMs = ms;
        observation?.streaming?.();
      } catch (fault) {
        report(fault);
      }
    },
    failed(code) {
      errorCode ??= code;
    },
    closed(status, whole) {
      isClosed = true;
      const transport = transportEnd(whole, errorCode);
      setImmediate(() => {
        void deliver(transport, status)
          .catch(report)
          .then(() => copy.release());
        onTold();
      });
    },
  };
}

/** How often an observer hears that a stream goes on: far more often than anyone waits for it, far less than per chunk. */
const STREAMING_INTERVAL_MS = 1000;

/** @throws {TypeError} when a header could not be sent: better noticed here than when the agent is asked. */
function sendable(headers: Readonly<Record<string, string>> | undefined): typeof headers {
  for (const [name, value] of Object.entries(headers ?? {})) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return headers;
}

function transportEnd(whole: boolean, errorCode: ProxyErrorCode | undefined): TransportEnd {
  if (errorCode === 'shutting_down') return 'client_aborted';
  if (errorCode !== undefined) return 'upstream_error';
  return whole ? 'complete' : 'client_aborted';
}

/** An AG-UI stream, or a refusal of what may have been a run. */
function isWanted(request: IncomingMessage, response: IncomingMessage): boolean {
  return (
    AG_UI_STREAM_TYPES.has(mediaType(response.headers['content-type'])) || (isJsonPost(request) && isRefusal(response))
  );
}

function isRefusal(response: IncomingMessage): boolean {
  return (response.statusCode ?? 0) >= 400;
}

function isJsonPost(request: IncomingMessage): boolean {
  return (
    request.method === 'POST' && /^application\/(?:[\w.+-]+\+)?json$/.test(mediaType(request.headers['content-type']))
  );
}

function contentOf({ headers }: IncomingMessage): { contentType: string; contentEncoding: string } {
  return { contentType: headers['content-type'] ?? '', contentEncoding: headers['content-encoding'] ?? '' };
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.join(', ');
}

function reportTo(onFault: (fault: unknown) => void, fault: unknown): void {
  try {
    onFault(fault);
  } catch {
    // There is no one left to tell.
  }
}
