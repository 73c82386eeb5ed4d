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
    /** The whole request body; absent when it was over the tap's bound (see {@link Capture.truncated}) or empty. */
    readonly body?: Uint8Array;
    /** The first bytes of a body that was over the tap's bound. */
    readonly head?: Uint8Array;
  };
  /** Absent when the agent never answered. */
  readonly response?: {
    readonly status: number;
    readonly contentType: string;
    readonly contentEncoding: string;
    /**
     * The copied body bytes in pieces that lie end to end, from the first on; a prefix of what was forwarded when the tap
     * gave up.
     */
    readonly body: readonly Uint8Array[];
    /** Where each forwarded chunk began in `body` and when it arrived, in order. Arrivals within 1 ms share an entry. */
    readonly chunks: readonly ChunkArrival[];
  };
  /** The tap gave up for this exchange because a bound was reached; the stream went on untouched. */
  readonly truncated: boolean;
  readonly transport: TransportEnd;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  readonly trace: SpanLink;
}

export interface ChunkArrival {
  readonly offset: number;
  /** Epoch milliseconds, fractional. */
  readonly at: number;
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
