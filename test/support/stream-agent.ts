import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Digest } from './receive.ts';

/** The pieces of a body, each one write. */
export type Pieces = Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>;

/** An answer of an agent, byte for byte. */
export interface StreamAnswer {
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces: Pieces;
}

export interface StreamAgent extends AsyncDisposable {
  readonly url: string;
  /** What was sent in answer to the request of this id; absent unless it was sent to its end. */
  sent(id: string): Digest | undefined;
}

/** The request header by which a request is told from others. */
export const REQUEST_ID = 'x-request-id';

/** An agent whose answers are made by `answer`, and that writes them as fast as they are taken. */
export async function startStreamAgent(answer: (path: string) => StreamAnswer): Promise<StreamAgent> {
  const sent = new Map<string, Digest>();

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    await once(request, 'end');
    const { headers = { 'content-type': 'text/event-stream' }, pieces } = answer(request.url ?? '/');
    response.writeHead(200, headers);
    const hash = createHash('sha256');
    let bytes = 0;
    async function* noted(): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces) {
        const written = typeof piece === 'string' ? Buffer.from(piece) : piece;
        hash.update(written);
        bytes += written.length;
        yield written;
      }
    }
    await pipeline(Readable.from(noted(), { highWaterMark: 1 }), response);
    sent.set(String(request.headers[REQUEST_ID]), { bytes, sha256: hash.digest('hex') });
  }

  const server = createServer((request, response) => {
    // The client, or the sidecar, may leave at any point.
    void respond(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the agent has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    sent: (id) => sent.get(id),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}
