/** How the agent plays one run. */
export type RunPlan =
  /** Events `everyMs` apart on average, each at a moment of its own. */
  | { readonly kind: 'paced'; readonly events: number; readonly everyMs: number; readonly deltaLength: number }
  /** Events as fast as they are taken. */
  | { readonly kind: 'burst'; readonly events: number; readonly deltaLength: number }
  /** Each event once the one before it was acknowledged, beside the proxy. */
  | { readonly kind: 'lock_step'; readonly events: number; readonly deltaLength: number }
  /** An event every `everyMs` until the client leaves. */
  | { readonly kind: 'open'; readonly everyMs: number }
  | SilencePlan;

/** A head, or not even that, and then nothing until the client leaves or `forMs` are over. */
export interface SilencePlan {
  readonly kind: 'silent';
  readonly isHeadSent: boolean;
  readonly forMs: number;
}

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
  readonly run: RunPlan;
  /**
   * Lanes begin at moments of their own in this time, and nothing emitted in it counts towards the latencies: all runs at once
   * would wait for each other's requests, and that alone is more than one event in a hundred.
   */
  readonly leadInMs?: number;
}

/** A load that ends by itself. */
export interface BoundedLoad extends Load {
  /** Runs one after another in each lane, on a connection that is kept. */
  readonly runsPerLane: number;
}

/** What came of a load for one target. Every body that has ended was what the agent sent, or the load has failed. */
export interface Outcome {
  readonly runs: number;
  readonly events: number;
  readonly bytes: number;
  /** From an event's emission to its arrival, in µs. */
  readonly latenciesUs: readonly number[];
}

/** By name of the target. */
export type Outcomes = Readonly<Record<string, Outcome>>;

/** What the runner asks of the load client. */
export type ClientRequest =
  | { readonly kind: 'load'; readonly load: BoundedLoad }
  /** Begins a load in which runs follow each other in each lane until `finish`. */
  | { readonly kind: 'begin'; readonly load: Load }
  /** Asks for what came of that load since it was last asked for. */
  | { readonly kind: 'slice' }
  | { readonly kind: 'finish' }
  /** Opens so many streams with each target and holds them until `leave`. */
  | { readonly kind: 'open'; readonly targets: readonly Endpoint[]; readonly streams: number; readonly everyMs: number }
  | { readonly kind: 'leave' }
  /** Posts a run of silence and leaves it. */
  | { readonly kind: 'silence'; readonly target: Endpoint; readonly plan: SilencePlan; readonly leave: LeaveWhen };

/** `begun`: the agent has the request and has sent its head, if it does. `head`: that has arrived. */
export type LeaveWhen = 'begun' | 'head';

export type ClientReply =
  | { readonly kind: 'done' }
  | { readonly kind: 'outcomes'; readonly outcomes: Outcomes }
  | { readonly kind: 'silence'; readonly delays: SilenceDelays }
  | { readonly kind: 'failed'; readonly message: string };

/** What came of one run of silence, in µs. */
export interface SilenceDelays {
  /** From the agent's writing of the head to its arrival. NaN where that was not waited for. */
  readonly headUs: number;
  /** From the client's leaving to the agent's noticing. */
  readonly closeUs: number;
}

/** The clock that all processes of a host share, in µs. Each event carries it as its `timestamp`. */
export function hostClockUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}
