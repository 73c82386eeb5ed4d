import type { Cores } from '../cores.ts';
import type { Endpoint } from '../plan.ts';

/** A proxy in front of the agent, running. */
export interface Target extends Endpoint {
  /** The process whose CPU time and memory count. */
  readonly pid: number;
  /** Of the streams, those that a sidecar reads, in [0, 1]. */
  readonly readShare?: number;
  /** What the sidecar says that it copied. */
  readonly copied?: () => Promise<Copied>;
  readonly stop: () => Promise<void>;
}

export interface Copied {
  /** Events read from copies. */
  readonly events: number;
  /** Bytes that were forwarded and, over a bound, not copied. */
  readonly droppedBytes: number;
}

/** What a target is started with. */
export interface TargetPlace {
  readonly agentPort: number;
  readonly cores: Cores;
}

/** A kind of proxy that can be started, more than once. */
export interface TargetKind {
  readonly name: string;
  readonly start: (place: TargetPlace) => Promise<Target>;
}
