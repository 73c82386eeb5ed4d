/** How the agent plays one run. */
export type RunPlan =
  /** Events `everyMs` apart on average, each at a moment of its own. */
  | { readonly kind: 'paced'; readonly events: number; readonly everyMs: number; readonly deltaLength: number }
  /** Events as fast as they are taken. */
  | { readonly kind: 'burst'; readonly events: number; readonly deltaLength: number }
  /** Each event once the one before it was acknowledged, beside the proxy. */
  | { readonly kind: 'lock_step'; readonly events: number; readonly deltaLength: number }
  /** An event every `everyMs` until the client leaves. */
  | { readonly kind: 'open'; readonly everyMs: number };

/** Where the load client sends runs to. */
export interface Endpoint {
  readonly name: string;
  readonly port: number;
}

/** Runs that all targets get at the same time. */
export interface Load {
  readonly targets: readonly Endpoint[];
  /** Runs under way at once, for each target. */
  readonly lanes: number;
  /** Runs one after another in each lane, on a connection that is kept. */
  readonly runsPerLane: number;
  readonly run: RunPlan;
}

/** What came of a load for one target. Every body was what the agent sent, or the load has failed. */
export interface Outcome {
  readonly runs: number;
  readonly events: number;
  readonly bytes: number;
  /** From an event's emission to its arrival, in µs. NaN where no event carried its time. */
  readonly p50Us: number;
  readonly p99Us: number;
}

/** What the runner asks of the load client. */
export type ClientRequest =
  | { readonly kind: 'load'; readonly load: Load }
  /** Opens so many streams with each target and holds them until `leave`. */
  | { readonly kind: 'open'; readonly targets: readonly Endpoint[]; readonly streams: number; readonly everyMs: number }
  | { readonly kind: 'leave' };

export type ClientReply =
  | { readonly kind: 'done'; readonly outcomes: Readonly<Record<string, Outcome>> }
  | { readonly kind: 'failed'; readonly message: string };

/** The clock that all processes of a host share, in µs. Each event carries it as its `timestamp`. */
export function hostClockUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}
