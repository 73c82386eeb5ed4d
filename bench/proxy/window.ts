import { setTimeout as sleep } from 'node:timers/promises';
import { cpuUs, quiet } from './accounting.ts';
import type { Client } from './client.ts';
import type { BoundedLoad, Load, Outcome, Outcomes } from './plan.ts';
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
  /** CPU time of the target in the window; where the load ends with it, up to the end of the work that it gave, but for the last copies (see {@link quiet}). */
  readonly cpuUs: number;
}

/** Sends a load to all targets at the same time, so that whatever else the machine does falls on all of them. */
export async function window(
  { targets, client }: Field,
  load: Omit<BoundedLoad, 'targets'>,
): Promise<readonly Share[]> {
  const before = used(targets);
  const outcomes = await client.send({ ...load, targets });
  await quiet(targets.map(({ pid }) => pid));
  return sharesOf(targets, outcomes, before, used(targets));
}

/** Windows of `ms` each in a load that goes on through all of them, so that none has a beginning or an end of its own. */
export async function* slices(
  { targets, client }: Field,
  load: Omit<Load, 'targets'>,
  ms: number,
): AsyncGenerator<readonly Share[], never> {
  await client.begin({ ...load, targets });
  try {
    let before = used(targets);
    for (;;) {
      await sleep(ms);
      const outcomes = await client.slice();
      const after = used(targets);
      yield sharesOf(targets, outcomes, before, after);
      before = after;
    }
  } finally {
    await client.finish();
    await quiet(targets.map(({ pid }) => pid));
  }
}

const used = (targets: readonly Target[]): readonly number[] => targets.map(({ pid }) => cpuUs(pid));

function sharesOf(
  targets: readonly Target[],
  outcomes: Outcomes,
  before: readonly number[],
  after: readonly number[],
): readonly Share[] {
  return targets.flatMap(({ name }, index) => {
    const outcome = outcomes[name];
    return outcome ? [{ name, outcome, cpuUs: (after[index] ?? NaN) - (before[index] ?? NaN) }] : [];
  });
}
