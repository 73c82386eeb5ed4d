import { setTimeout as sleep } from 'node:timers/promises';
import { quiet, residentKiB } from './accounting.ts';
import type { Client } from './client.ts';
import type { Samples } from './samples.ts';
import type { Effort } from './scenarios.ts';
import type { Target, TargetKind, TargetPlace } from './targets/target.ts';

/** Targets that hold their streams at the same time: agent and client have a connection for each. */
const TOGETHER = 4;
const EVERY_MS = 5000;
const WARM_STREAMS = 100;

/**
 * Memory of streams that are open and speak now and then. Each time in a process of its own, since what a process was given
 * it hardly gives back; what it takes to have carried streams at all is not counted.
 */
export async function openStreams(
  kinds: readonly TargetKind[],
  place: TargetPlace,
  client: Client,
  samples: Samples,
  { openStreams: streams, openRounds, holdMs }: Effort,
): Promise<void> {
  for (let round = 0; round < openRounds; round += 1) {
    for (let first = 0; first < kinds.length; first += TOGETHER) {
      const targets = await Promise.all(kinds.slice(first, first + TOGETHER).map((kind) => kind.start(place)));
      try {
        await hold(targets, WARM_STREAMS, 0, client);
        const before = targets.map(({ pid }) => residentKiB(pid));
        const after = await hold(targets, streams, holdMs, client);
        for (const [index, { name }] of targets.entries()) {
          samples.add('memory', name, (((after[index] ?? NaN) - (before[index] ?? NaN)) * 1.024) / streams);
        }
      } finally {
        await Promise.all(targets.map((target) => target.stop()));
      }
    }
  }
}

/** Resident memory of each target while it holds so many streams. */
async function hold(targets: readonly Target[], streams: number, holdMs: number, client: Client): Promise<number[]> {
  await client.open(targets, streams, EVERY_MS);
  await sleep(holdMs);
  const resident = targets.map(({ pid }) => residentKiB(pid));
  await client.leave();
  await quiet(targets.map(({ pid }) => pid));
  return resident;
}
