import type { IncomingMessage } from 'node:http';
import { systemClock } from '../lib/clock.ts';

/** As long as common servers wait for a client to notice. */
const LINGER_MS = 5_000;

/**
 * To be called when a request is answered before it was received whole. Should the connection end with the answer, it ends
 * in two steps (RFC 9112 §9.6): closed at once, with bytes unread, it would be reset, and a client that is still sending
 * would lose the answer.
 */
export function lingerAfterAnswer({ socket, complete }: IncomingMessage): void {
  if (complete) return;
  // What Node calls to close a connection behind its last answer.
  socket.destroySoon = () => {
    socket.end();
    socket.once(
      'close',
      systemClock.schedule(LINGER_MS, () => socket.destroy()),
    );
  };
}
