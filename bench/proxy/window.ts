import { cpuUs, quiet } from './accounting.ts';
import type { Client } from './client.ts';
import type { Load, Outcome } from './plan.ts';
import type { Delay } from './promptness.ts';
import type { Samples } from './samples.ts';
import type { Target } from './targets/target.ts';

/** What the scenarios share: targets that run side by side, and where the figures go. */
export interface Field {
  readonly targets: readonly Target[];
  /** The agent without anything in front of it. */
  readonly agentPort: number;
  readonly client: Client;
  readonly samples: Samples;
  readonly delays: Samples<Delay>;
}

/** One target's part in one window. */
export interface Share {
  readonly name: string;
  readonly outcome: Outcome;
  /** CPU time of the target, up to the end of all work that the load gave it. */
  readonly cpuUs: number;
}

/** Sends a load to all targets at the same time, so that whatever else the machine does falls on all of them. */
export async function window({ targets, client }: Field, load: Omit<Load, 'targets'>): Promise<readonly Share[]> {
  const pids = targets.map(({ pid }) => pid);
  const before = pids.map(cpuUs);
  const outcomes = await client.send({ ...load, targets });
  await quiet(pids);
  const after = pids.map(cpuUs);
  return targets.flatMap(({ name }, index) => {
    const outcome = outcomes[name];
    return outcome ? [{ name, outcome, cpuUs: (after[index] ?? NaN) - (before[index] ?? NaN) }] : [];
  });
}
