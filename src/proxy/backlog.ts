import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Connections } from './connections.ts';

/** Most connections in the queue of the listener; Node's own default. */
export const BACKLOG = 511;

/** A turn of the event loop in which there was nothing to do takes a few microseconds; how long one is waited for at most. */
const IDLE_TURN_MS = 0.02;
const IDLE_TURN_WAIT_MS = 250;

/**
 * Connections that the kernel has made and Node has not taken, which it does one a turn, would be reset by the close of
 * the listener, whatever their clients have sent by now. Those that are made between the last look and the close still
 * are. So the last turn must be one in which nothing else was done either: an answer that was just sent brings its
 * client back.
 */
export async function takeBacklog(connections: Pick<Connections, 'accepted'>): Promise<void> {
  // The first turn may be one whose look at the network is over.
  await nextTurn();
  const enough = connections.accepted() + BACKLOG;
  const givenUpAt = performance.now() + IDLE_TURN_WAIT_MS;
  for (;;) {
    const before = connections.accepted();
    const turnAt = performance.now();
    await nextTurn();
    const wasIdle = performance.now() - turnAt <= IDLE_TURN_MS;
    if (connections.accepted() === before ? wasIdle || turnAt > givenUpAt : connections.accepted() >= enough) return;
  }
}
