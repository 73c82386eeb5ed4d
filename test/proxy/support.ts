import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import {
  connect,
  createServer as createNetServer,
  type AddressInfo,
  type Server,
  type ServerOpts,
  type Socket,
} from 'node:net';
import { onTestFinished } from 'vitest';
import type { Capture } from '../../src/agui/capture.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Observation, ProxiedRequest, RequestEnd } from '../../src/proxy/observer.ts';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import { createProxyServer, type ProxyServer } from '../../src/proxy/server.ts';
import { keptCapture } from '../support/captured.ts';

/** Loopback, always by address: `localhost` may be two of them. */
const HOST = '127.0.0.1';

export interface FakeAgent {
  readonly url: string;
  readonly port: number;
  /** Connections open at this moment. */
  readonly sockets: ReadonlySet<Socket>;
}

/** An agent that speaks HTTP. */
export async function httpAgent(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<FakeAgent> {
  return serve(
    createServer((request, response) => {
      void answer(request, response);
    }),
  );
}

/** Resolves with the whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return body;
}

/** An agent that writes whatever bytes it likes. */
export async function rawAgent(onConnection: (socket: Socket) => void, options: ServerOpts = {}): Promise<FakeAgent> {
  return serve(
    createNetServer(options, (socket) => {
      socket.on('error', () => {});
      onConnection(socket);
    }),
  );
}

/** An agent that waits for one request head on each connection and then does `answer`. */
export async function agentThat(answer: (socket: Socket, head: string) => unknown): Promise<FakeAgent> {
  return rawAgent((socket) => {
    let seen = '';
    socket.on('data', (bytes) => {
      const answered = seen.includes('\r\n\r\n');
      seen += bytes.toString('latin1');
      if (!answered && seen.includes('\r\n\r\n')) void answer(socket, seen);
    });
  });
}

/** An agent that streams one event, `data: 1`, and is silent from then on. */
export async function quietAgent(): Promise<FakeAgent> {
  return httpAgent((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
}

/** An agent that takes one request and says nothing. */
export async function muteAgent() {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const agent = await agentThat((socket) => {
    asked.resolve();
    socket.on('close', () => left.resolve());
  });
  return { ...agent, asked: asked.promise, left: left.promise };
}

/**
 * An agent that answers one request and resets that connection when it is used again. On the next one its answer, `data`,
 * has no end, so that the connection can be looked at while it is in use.
 */
export async function agentOfStaleConnection() {
  let connections = 0;
  const agent = await rawAgent((socket) => {
    const isFirst = (connections += 1) === 1;
    let requests = 0;
    socket.on('data', () => {
      if (isFirst && (requests += 1) === 2) socket.resetAndDestroy();
      else if (isFirst) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata');
    });
  });
  return { ...agent, connections: () => connections };
}

/** Lets a server listen until the test is over. */
export async function serve(server: Server): Promise<FakeAgent> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const port = portOf(server.address());
  return { url: `http://${HOST}:${port}`, port, sockets };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createNetServer().listen(0, HOST);
  await once(server, 'listening');
  const port = portOf(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

export interface TestProxy {
  readonly proxy: ProxyServer;
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ProxiedRequest[];
  readonly faults: readonly unknown[];
  /** Bytes reported as not copied. */
  readonly droppedBytes: () => number;
  /** The end of the n-th observation, counted from 0; waits for it. */
  ended(index?: number): Promise<{ readonly end: RequestEnd; readonly capture?: Capture }>;
  readonly endings: () => number;
}

/** All tests of the proxy are run twice: with chunks that pass as they are, and with every response parsed. */
export const PASS_THROUGH = process.env['PASS_THROUGH'] !== 'false';

/** What the configuration gives by default. */
export const TAP = { maxExchangeBytes: 1024 * 1024, maxTotalBytes: 64 * 1024 * 1024 };

/** Options of a proxy in front of one agent at `/`, whose observations come to nothing; `changes` override. */
export function proxyOptions(agentUrl: string, changes: Partial<ProxyOptions> = {}): ProxyOptions {
  return {
    agents: [{ name: 'agent', url: agentUrl, match: '/' }],
    observe: () => observation(() => {}),
    tap: TAP,
    connectTimeoutMs: 10_000,
    passThrough: PASS_THROUGH,
    onTapDropped: () => {},
    onTapShed: () => {},
    onFault: () => {},
    now: () => systemClock.now(),
    ...changes,
  };
}

/** A proxy in front of one agent at `/`, observed; `options` override. */
export async function startProxy(agentUrl: string, options: Partial<ProxyOptions> = {}): Promise<TestProxy> {
  const requests: ProxiedRequest[] = [];
  const ends: { end: RequestEnd; capture?: Capture }[] = [];
  const faults: unknown[] = [];
  let dropped = 0;
  let wake = Promise.withResolvers<void>();
  const proxy = createProxyServer(
    proxyOptions(agentUrl, {
      observe: (request) => {
        requests.push(request);
        return observation((end, capture) => {
          ends.push(capture ? { end, capture: keptCapture(capture) } : { end });
          wake.resolve();
          wake = Promise.withResolvers();
        });
      },
      onFault: (fault) => faults.push(fault),
      onTapDropped: (bytes) => {
        dropped += bytes;
      },
      ...options,
    }),
  );
  const port = portOf(await proxy.listen({ port: 0, host: HOST }));
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return {
    proxy,
    url: `http://${HOST}:${port}`,
    port,
    requests,
    faults,
    droppedBytes: () => dropped,
    endings: () => ends.length,
    async ended(index = 0) {
      while (ends.length <= index) await wake.promise;
      return ends[index]!;
    },
  };
}

export function observation(finished: Observation['finished'], rest: Partial<Observation> = {}): Observation {
  return {
    trace: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 },
    ...rest,
    finished,
  };
}

export interface Answer {
  readonly status: number;
  readonly statusMessage: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Number of separate reads. */
  readonly reads: number;
  readonly rawTrailers: readonly string[];
}

/** One request with a fresh connection unless `agent` says otherwise. Rejects when the answer is not whole. */
export async function ask(url: string, options: RequestOptions = {}, body?: string | Uint8Array): Promise<Answer> {
  const request = httpRequest(url, { agent: false, ...options });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // Whoever answers early may close while the rest of the body is still being written; the answer is what counts.
  request.on('error', () => {});
  return readAnswer(response);
}

/** Reads an answer to its end; rejects when it is not whole. */
async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode ?? 0,
    statusMessage: response.statusMessage ?? '',
    rawHeaders: response.rawHeaders,
    headers: response.headers,
    body: Buffer.concat(chunks),
    reads: chunks.length,
    rawTrailers: response.rawTrailers,
  };
}

/** The JSON body of a run request, as HttpAgent sends one. */
export const RUN_REQUEST = JSON.stringify({ threadId: 't-1', runId: 'r-1', messages: [], tools: [], context: [] });

export const POST_JSON = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;

export interface RawClient {
  readonly socket: Socket;
  /** Everything read until now. */
  received(): string;
  /** Resolves when what was read contains `text`. */
  until(text: string): Promise<void>;
  /** Resolves when the connection is closed: with the error's code, or `end` after a clean end. */
  readonly closed: Promise<string>;
}

/** A client that writes bytes as they are. */
export function rawClient(port: number, bytes: string): RawClient {
  const socket = connect(port, HOST);
  let received = '';
  let ended = false;
  let error: NodeJS.ErrnoException | undefined;
  socket.write(bytes, 'latin1');
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('end', () => {
    ended = true;
  });
  socket.on('error', (cause) => {
    error = cause;
  });
  onTestFinished(() => {
    socket.destroy();
  });
  return {
    socket,
    received: () => received,
    async until(text) {
      while (!received.includes(text)) await once(socket, 'data');
    },
    closed: new Promise((resolve) => {
      socket.on('close', () => resolve(error?.code ?? (ended ? 'end' : 'closed')));
    }),
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new TypeError('The server listens on no port.');
  return address.port;
}
