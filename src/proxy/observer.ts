import type { IncomingHttpHeaders } from 'node:http';
import type { Capture, SpanLink, TransportEnd } from '../agui/capture.ts';
import type { ProxyErrorCode } from './errors.ts';

/** What is known of a request when it has been routed to an agent and before the agent is asked. */
export interface ProxiedRequest {
  /** The agent's name from the configuration. */
  readonly agent: string;
  /** The agent's path prefix on the sidecar. */
  readonly match: string;
  readonly method: string;
  /** Path of the request as the client sent it, without its query. */
  readonly path: string;
  /** Path and query with the agent's prefix stripped, as in {@link Capture.path}. */
  readonly agentPath: string;
  readonly scheme: 'http' | 'https';
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  /** Value of the configured tenant header, when there is one. */
  readonly tenant?: string;
  readonly clientAddress?: string;
  /** Port the sidecar was reached on. */
  readonly localPort?: number;
  readonly upstream: { readonly host: string; readonly port: number };
  /** Epoch milliseconds, fractional. */
  readonly startedAt: number;
}

/** How the request ended for the client. Times are epoch milliseconds, fractional. */
export interface RequestEnd {
  readonly transport: TransportEnd;
  /** Status sent to the client, the agent's or the sidecar's own; absent when the client left before any. */
  readonly status?: number;
  /**
   * Set when the sidecar answered in the agent's place or cut the response: because the agent failed, or because the
   * sidecar stopped (`shutting_down`; `transport` is then `client_aborted`, since the agent is not to blame).
   */
  readonly errorCode?: ProxyErrorCode;
  /** Arrival of the agent's response head. */
  readonly headAt?: number;
  /** Arrival of the first body byte. */
  readonly firstByteAt?: number;
  readonly endedAt: number;
  /** Time between the request head's arrival and the start of the agent's request, in milliseconds. */
  readonly overheadMs: number;
  /** Body bytes from client to agent. */
  readonly requestBytes: number;
  /** Body bytes from agent to client. */
  readonly responseBytes: number;
}

/** One request under observation. Nothing here may throw into the stream: the proxy guards every call. */
export interface Observation {
  /** The span that the agent's work belongs to. */
  readonly trace: SpanLink;
  /**
   * Headers that replace every `traceparent`, `tracestate` and `baggage` of the client; absent: the client's pass
   * unchanged.
   */
  readonly traceHeaders?: Readonly<Record<string, string>>;
  /**
   * Called at most once, when a JSON POST was received whole; in a turn of the event loop of its own, after the bytes went
   * to the agent. `body` is what was copied of it: all, or the first bytes of one that is over a bound. The bytes are
   * lent: they may be overwritten once the call returns.
   */
  requested?(body: Uint8Array): void;
  /**
   * Asked once whether the exchange is to be copied: when the request was received whole, after `requested` if that was
   * due, or at the exchange's end if it never was. False: what was copied is dropped, and `finished` gets no capture.
   * Absent: it is to be copied.
   */
  wantsCopy?(): boolean;
  /** Called now and then, at most once a second, while response bytes of a copied exchange pass. */
  streaming?(): void;
  /**
   * Called exactly once, after the last byte was forwarded. `capture` is present for exchanges that the tap copied: an
   * AG-UI response, or a JSON POST that failed before one came. Its bytes are lent, and count towards the tap's total, until
   * the call returns or, when it returns a promise, until that settles: they may be overwritten then.
   */
  finished(end: RequestEnd, capture?: Capture): void | Promise<void>;
}

/** Called once for each request that is routed to an agent. */
export type Observe = (request: ProxiedRequest) => Observation;
