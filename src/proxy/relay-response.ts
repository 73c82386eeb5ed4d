import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http';
import type { Bypass } from './bypass.ts';
import { acceptsTrailers, flushHead, knowsChunks, responseHeaders, trailerFields } from './headers.ts';

export interface ResponseRelayEvents {
  /**
   * The first `found` entries of `ranges` are start and end of each piece of `bytes` that was forwarded, in turn. Lent for the
   * time of the call.
   */
  readonly forwarded: (bytes: Buffer, ranges: readonly number[], found: number) => void;
  /** The agent's response ended before it was complete. */
  readonly broken: () => void;
}

/**
 * Sends the agent's response on: its head at once, each chunk as it arrives, and its end only when it was complete.
 *
 * @param bypass taken when both sides speak in chunks.
 * @throws when the head cannot be sent as it is; nothing has been sent then.
 */
export function relayResponse(
  incoming: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  bypass: Bypass | undefined,
  events: ResponseRelayEvents,
): void {
  response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, responseHeaders(incoming, request));
  flushHead(response);

  let isWhole = false;
  function relayParsed(): void {
    incoming.on('data', (chunk: Buffer) => {
      if (!response.write(chunk)) incoming.pause();
      events.forwarded(chunk, [0, chunk.length], 2);
    });
    response.on('drain', () => incoming.resume());
    incoming.on('end', () => {
      // Also told of one that was given up.
      isWhole = incoming.complete && !incoming.destroyed;
      if (!isWhole) return;
      const trailers = acceptsTrailers(request) ? trailerFields(incoming.rawTrailers) : [];
      if (trailers.length > 0) response.addTrailers(trailers);
      response.end();
    });
  }

  // What went wrong does not matter to the client; that the response is not whole does, and 'close' tells.
  incoming.on('error', () => {});
  incoming.on('close', () => {
    if (!isWhole) events.broken();
  });
  if (!bypass || !isChunkedOnBothSides(incoming, request, response) || !relayAround(bypass)) relayParsed();

  function relayAround(around: Bypass): boolean {
    const { socket } = response;
    if (!socket) return false;
    const isTaken = around.take({
      // Straight to the socket: the response would write them in a later tick, behind the copying. A client that has ended its
      // side, and with it the connection, still gets what waits for it; nothing goes behind that.
      chunks(bytes, written) {
        if (!socket.writable || !socket.write(bytes, written)) around.pause();
      },
      data: events.forwarded,
      handedBack() {
        socket.off('drain', around.resume);
        relayParsed();
      },
    });
    if (!isTaken) return false;
    socket.on('drain', around.resume);
    return true;
  }
}

/** Chunked and nothing else, and to be sent on as it is. */
function isChunkedOnBothSides(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse): boolean {
  return (
    response.chunkedEncoding &&
    request.method !== 'HEAD' &&
    incoming.headers['transfer-encoding']?.toLowerCase() === 'chunked'
  );
}

/**
 * Ends a response whose head was sent so that no client can take it for whole, and adds no byte to it. A counted or
 * chunked body shows by itself that it is cut, so what was already written is still delivered; a body that only the end
 * of the connection delimits (HTTP/1.0) needs a reset.
 */
export function breakOff(incoming: IncomingMessage | undefined, request: IncomingMessage): void {
  const cutShows = incoming?.headers['content-length'] !== undefined || knowsChunks(request);
  if (cutShows) request.socket.destroySoon();
  else request.socket.resetAndDestroy();
}

/** Passes an interim response on (RFC 9110 §15.2): 100 to a client that waits for it, 102, and 103 that has links. */
export function relayInterim(information: InformationEvent, request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent || response.destroyed || !knowsChunks(request)) return;
  try {
    const { statusCode } = information;
    if (statusCode === 100 && request.headers.expect !== undefined) response.writeContinue();
    if (statusCode === 102) response.writeProcessing();
    if (statusCode === 103) response.writeEarlyHints(earlyHints(information));
  } catch {
    // A hint that cannot be written is left out; the final response is what counts.
  }
}

/**
 * The fields of a 103 as Node takes them: each name once, so values of one that is repeated are joined, as RFC 9110
 * §5.3 allows; one link at a time. Without a link Node writes nothing. What trailers must not say is left out here, too.
 */
function earlyHints({ headers, rawHeaders }: InformationEvent): Record<string, string | string[]> {
  const forOneHop = new Set(headers.connection?.toLowerCase().split(/[\s,]+/));
  const hints: [name: string, value: string | string[]][] = [];
  for (const [lower, fields] of Map.groupBy(trailerFields(rawHeaders), ([name]) => name.toLowerCase())) {
    const values = fields.map(([, value]) => value);
    if (forOneHop.has(lower)) continue;
    if (lower === 'link') hints.push([lower, values.flatMap((links) => links.split(/,\s*(?=<)/))]);
    else hints.push([fields[0]![0], values.join(', ')]);
  }
  return Object.fromEntries(hints);
}
