import type { ClientRequest, IncomingMessage } from 'node:http';
import { trailerFields } from './headers.ts';

/** Up to this size a body is held until the agent answers, so that it can be sent once more. */
const MAX_HELD_BYTES = 64 * 1024;

/** The client's body on its way to the agent. */
export interface RequestRelay {
  /** Sends the body to this request from its first byte on; the last one given receives what is still to come. */
  to(upstream: ClientRequest): void;
  /** True while all that has been received is still held. */
  isHeld(): boolean;
  /** Stops holding: the body will not be needed again. */
  release(): void;
  /** Reads the rest and forgets it, so that the client can read an answer and use its connection again. */
  discard(): void;
}

export interface RequestRelayEvents {
  readonly forwarded: (chunk: Buffer) => void;
  /** The client's body was received to its end. */
  readonly received: () => void;
  /** The next move is the agent's: it has the whole body, or does not take more of it for now. */
  readonly agentIsDue: () => void;
  /** The agent takes more of the body. */
  readonly agentIsReading: () => void;
}

/** Starts reading the client's body. It is paused whenever the agent does not keep up. */
export function relayRequest(request: IncomingMessage, events: RequestRelayEvents): RequestRelay {
  let upstream: ClientRequest | undefined;
  let held: Buffer[] | undefined = [];
  let heldBytes = 0;
  let ended = false;

  request.on('data', (chunk: Buffer) => {
    hold(chunk);
    if (!upstream) return;
    if (!upstream.write(chunk)) {
      request.pause();
      events.agentIsDue();
    }
    events.forwarded(chunk);
  });
  request.on('end', () => {
    ended = true;
    if (upstream) finish(upstream);
    events.received();
  });
  // A client that leaves is noticed through its connection, by whoever started this.
  request.on('error', () => {});

  function hold(chunk: Buffer): void {
    heldBytes += chunk.length;
    if (heldBytes > MAX_HELD_BYTES) held = undefined;
    else held?.push(chunk);
  }

  function finish(to: ClientRequest): void {
    const trailers = trailerFields(request.rawTrailers);
    if (trailers.length > 0) to.addTrailers(trailers);
    to.end();
    events.agentIsDue();
  }

  return {
    to(next) {
      upstream = next;
      const resume = () => {
        if (upstream !== next) return;
        events.agentIsReading();
        request.resume();
      };
      next.on('drain', resume);
      // Node's client says no more that it drains once it has the whole answer, but the agent may still read.
      next.on('socket', (socket) => {
        socket.on('drain', resume);
        next.once('close', () => socket.off('drain', resume));
      });
      for (const chunk of held ?? []) next.write(chunk);
      if (ended) finish(next);
      else request.resume();
    },
    isHeld: () => held !== undefined,
    release() {
      held = undefined;
    },
    discard() {
      upstream = undefined;
      held = undefined;
      request.resume();
    },
  };
}
