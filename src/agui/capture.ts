/**
 * What the proxy's tap hands over when one HTTP exchange has ended: copies of bytes and facts about the transport,
 * nothing interpreted. `agui/` turns it into an {@link Exchange}. The bytes are lent for as long as that takes.
 */
export interface Capture {
  /** The agent's name from the configuration. */
  readonly agent: string;
  /** Value of the configured tenant header, when there is one. */
  readonly tenant?: string;
  readonly method: string;
  /** Path and query as the client asked for them, the agent's prefix stripped. */
  readonly path: string;
  readonly request: {
    readonly contentType: string;
    readonly contentEncoding: string;
    /**
     * The whole request body; absent when it was empty, over the tap's bound, or still coming when the answer was over (see
     * {@link Capture.truncated}).
     */
    readonly body?: Uint8Array;
    /** The first bytes of a body that is not here whole. */
    readonly head?: Uint8Array;
  };
  /** Absent when the agent never answered. */
  readonly response?: {
    readonly status: number;
    readonly contentType: string;
    readonly contentEncoding: string;
    /**
     * The copied body as it arrived, from the first bytes on; a prefix of what was forwarded when the tap gave up. It can be
     * read more than once.
     */
    readonly body: Iterable<Arrival>;
  };
  /** Not all of the exchange was copied: a bound was reached, or the answer came before the request had. The stream went on. */
  readonly truncated: boolean;
  readonly transport: TransportEnd;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  readonly trace: SpanLink;
}

/** Bytes of a body that arrived within a millisecond, or a part of them. */
export interface Arrival {
  readonly bytes: Uint8Array;
  /** Epoch milliseconds, to the whole millisecond since the exchange began; absent when it is not known. */
  readonly at?: number;
}

/** How the HTTP exchange ended on the wire, whatever the agent said in it. */
export type TransportEnd = 'complete' | 'client_aborted' | 'upstream_error';

/** The span an exchange belongs to, as four strings that survive a restart (W3C Trace Context). */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  /** W3C trace flags; bit 0 is `sampled`. */
  readonly traceFlags: number;
  readonly traceState?: string;
}
