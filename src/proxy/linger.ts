import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { systemClock } from '../lib/clock.ts';

/** As long as common servers wait for a client to notice. */
const LINGER_MS = 5_000;

/**
 * Ends a connection behind its last bytes in two steps (RFC 9112 §9.6): closed at once, with bytes unread, it would be reset,
 * and a client that is still sending would lose what was said to it. Who calls this sees to it that the rest is read.
 */
export function endLingering(connection: Duplex, lastBytes?: Uint8Array): void {
  const cancel = systemClock.schedule(LINGER_MS, () => connection.destroy());
  connection.once('close', cancel);
  connection.end(lastBytes);
}

/**
 * To be called when a request is answered before it was received whole: should its connection end with the answer, it ends
 * by {@link endLingering}.
 */
export function lingerAfterAnswer(request: IncomingMessage): void {
  const { socket, complete } = request;
  if (complete) return;
  // What Node calls to close a connection behind its last answer.
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => endLingering(socket);
  request.once('end', () => {
    socket.destroySoon = destroySoon;
  });
}
