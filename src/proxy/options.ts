import type { AgentFailure } from './errors.ts';
import type { Provenance } from './headers.ts';
import type { Observe } from './observer.ts';
import type { Refusal } from './refusals.ts';
import type { TapLimits } from './tap.ts';
import type { ProxyAgent } from './upstream.ts';

export interface ProxyOptions {
  /** At least one; the longest `match` that covers a path wins. */
  readonly agents: readonly ProxyAgent[];
  readonly observe: Observe;
  /** Absent: nothing is copied. */
  readonly tap?: TapLimits | undefined;
  /** Until a connection to the agent stands; then 504. */
  readonly connectTimeoutMs: number;
  /** From the request's last byte to the response's first; then 504. Default: none. */
  readonly firstByteTimeoutMs?: number;
  /** False: every response is read by Node's parser and framed again. Default true. */
  readonly passThrough?: boolean;
  /** Bytes of a head, the agent's or a client's, request target included. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** Until a request head is there, from the connection or from the head's first byte. Default 60 s. */
  readonly headTimeoutMs?: number;
  /** Connections of clients at once; one more is closed. Default: no limit but the system's. */
  readonly maxConnections?: number;
  /**
   * Sends a request once more when the kept connection it was sent on turns out to have been closed by the agent. Default
   * true.
   */
  readonly replay?: boolean;
  /**
   * What a client means that ends its side of the connection: `abort`, that it has left; `answer`, that it has sent all and
   * still reads. TCP does not tell the two apart. Default `abort`.
   */
  readonly halfClose?: 'abort' | 'answer';
  /** Whose name the agent reads in `Host`. Default `agent`. */
  readonly hostHeader?: Provenance['hostHeader'];
  /** What becomes of `X-Forwarded-*` and `Forwarded`. Default `append`. */
  readonly forwardedHeaders?: Provenance['forwardedHeaders'];
  /** An agent was asked and gave no answer, or none that is whole: once for each request that failed for it. */
  readonly onAgentFailed?: (failure: AgentFailure) => void;
  /** A connection or a request was turned away before any agent was asked. */
  readonly onRefused?: (refusal: Refusal) => void;
  /** Request header that names the tenant, in lower case. */
  readonly tenantHeader?: string;
  /** Bytes of an exchange that were forwarded and, over a bound of the tap, not copied. Called once for each exchange. */
  readonly onTapDropped: (bytes: number) => void;
  /** True while the process runs late: then nothing new is copied. Default: never. */
  readonly isOverloaded?: () => boolean;
  /** An exchange that would have been copied was not, because of that. */
  readonly onTapShed: () => void;
  /** Something on the observing side threw. The stream went on. */
  readonly onFault: (fault: unknown) => void;
  /** Epoch milliseconds, fractional. */
  readonly now: () => number;
}
