import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';

/** What is wrong with a server. */
export type Illness = keyof typeof ILLNESSES;

const JSON_HEAD = { 'content-type': 'application/json' };

const ILLNESSES = {
  /** Takes the request and never answers. */
  silent: () => {},
  /** Sends a head and half a body, and falls silent. */
  stuck: (response: ServerResponse) => void response.writeHead(200, JSON_HEAD).write('{"choices":['),
  /** Sends a body that has no end, as fast as it is taken. */
  endless: (response: ServerResponse) => {
    const piece = `"${'x'.repeat(64 * 1024)}",`;
    const send = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response
      .writeHead(200, JSON_HEAD)
      .on('drain', send)
      .on('error', () => {});
    response.write('[');
    send();
  },
  /** Sends what is no JSON. */
  garbage: (response: ServerResponse) => void response.writeHead(200, JSON_HEAD).end(Buffer.alloc(4096, 0xfe)),
  /** Sends JSON so deep that whoever walks it by recursion falls. */
  deep: (response: ServerResponse) =>
    void response.writeHead(200, JSON_HEAD).end('['.repeat(100_000) + ']'.repeat(100_000)),
  /** Says that it cannot. */
  unavailable: (response: ServerResponse) => void response.writeHead(503).end(),
  /** Cuts the connection. */
  reset: (response: ServerResponse) => void response.socket?.resetAndDestroy(),
} as const;

export interface IllServer extends AsyncDisposable {
  readonly url: string;
  /** How requests are answered from now on. */
  suffer(from: Illness): void;
  /** Requests that came in. */
  requestCount(): number;
}

/** A server on a free port that takes what it is sent and answers in none of the ways it should. */
export async function startIllServer(illness: Illness): Promise<IllServer> {
  let current = illness;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    request.once('end', () => ILLNESSES[current](response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    suffer: (from) => {
      current = from;
    },
    requestCount: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}
