/** `ready`: the configuration is loaded and the proxy listens. Judge, collector and agent have no say in it. */
export type ReadinessState = 'starting' | 'ready' | 'draining';

/** Whether traffic should come here, and whether those who direct it have heard. */
export interface Readiness {
  readonly state: ReadinessState;
  become(state: ReadinessState): void;
  /** A prober was told this state: its answer has left the process. */
  told(state: ReadinessState): void;
  /** Whether any prober has ever asked. */
  readonly isWatched: boolean;
  /** Resolves when a prober has been told `draining`. */
  readonly failureSeen: Promise<void>;
}

export function createReadiness(): Readiness {
  let state: ReadinessState = 'starting';
  let isWatched = false;
  const { promise: failureSeen, resolve: tellFailureSeen } = Promise.withResolvers<void>();
  return {
    get state() {
      return state;
    },
    become(next) {
      state = next;
    },
    told(heard) {
      isWatched = true;
      if (heard === 'draining') tellFailureSeen();
    },
    get isWatched() {
      return isWatched;
    },
    failureSeen,
  };
}
