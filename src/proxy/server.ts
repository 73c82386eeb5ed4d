import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import { Server as NetServer, type AddressInfo, type ListenOptions, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import { systemClock } from '../lib/clock.ts';
import { sendError } from './errors.ts';
import { openRecord } from './exchange-record.ts';
import { forward, type Forwarding } from './forward.ts';
import type { Observe } from './observer.ts';
import { createRouter } from './route.ts';
import { createTapPool, type TapLimits } from './tap.ts';
import { isUpgrade, readAsOrdinary, type ClientUpgrade } from './upgrade.ts';
import { createUpstream, type ProxyAgent } from './upstream.ts';

export interface ProxyOptions {
  /** At least one; the longest `match` that covers a path wins. */
  readonly agents: readonly ProxyAgent[];
  readonly observe: Observe;
  /** Absent: nothing is copied. */
  readonly tap?: TapLimits | undefined;
  /** Until a connection to the agent stands; then 504. */
  readonly connectTimeoutMs: number;
  /** From the request's last byte to the response's first; then 504. Default: none. */
  readonly firstByteTimeoutMs?: number;
  /** Request header that names the tenant, in lower case. */
  readonly tenantHeader?: string;
  /** Bytes of an exchange that were forwarded and, over a bound of the tap, not copied. Called once for each exchange. */
  readonly onTapDropped: (bytes: number) => void;
  /** Something on the observing side threw. The stream went on. */
  readonly onFault: (fault: unknown) => void;
  /** Epoch milliseconds, fractional. */
  readonly now: () => number;
}

export interface ProxyServer extends AsyncDisposable {
  /** Resolves when connections are accepted; rejects when the address is taken or not ours. */
  listen(where: ListenOptions): Promise<AddressInfo | string>;
  /**
   * Stops accepting and lets what is under way run for `graceMs`, then cuts it. Resolves when every observation has been
   * told its end. Called again, it can only shorten the grace.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Longer than load balancers keep an idle connection (60 s): the side that closes first causes no lost request. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
const HEADERS_TIMEOUT_MS = 60_000;

/** While stopping, how long an idle connection stays, so that a client that is just sending is answered, not reset. */
const IDLE_LINGER_MS = 250;

/**
 * The sidecar's public side: one HTTP server that sends each request to the agent whose prefix covers its path, and the
 * answer back, byte for byte. It makes no decision about what passes.
 *
 * @throws {TypeError} when an agent's url or match cannot be used.
 */
export function createProxyServer(options: ProxyOptions): ProxyServer {
  const { observe, tap, connectTimeoutMs, firstByteTimeoutMs, tenantHeader, now, onTapDropped, onFault } = options;
  const upstreams = options.agents.map(createUpstream);
  const route = createRouter(upstreams);
  const openTap = tap ? createTapPool(tap) : () => undefined;
  const recordOptions = { observe, openTap, tenantHeader, now, onTapDropped, onFault };
  const forwardOptions = { connectTimeoutMs, firstByteTimeoutMs, isDraining: () => draining, onDefect: onFault };
  const underWay = new Set<Forwarding>();
  const sockets = new Set<Socket>();
  let draining = false;

  function handle(request: IncomingMessage, response: ServerResponse, upgrade?: ClientUpgrade): void {
    const routed = route(request.url ?? '/');
    if (!routed) {
      request.resume();
      if (draining) response.shouldKeepAlive = false;
      sendError(
        response,
        'no_route',
        'No agent is configured for this path. Compare it with the `match` of each agent.',
      );
      return;
    }
    const record = openRecord(request, routed, { ...recordOptions, onTold: () => underWay.delete(forwarding) });
    const forwarding = forward(request, response, routed, record, forwardOptions, upgrade);
    underWay.add(forwarding);
  }

  function handleUpgrade(request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    const upgrade = { request, protocol: request.headers.upgrade ?? '', socket, firstBytes };
    const destroy = () => socket.destroy();
    socket.on('error', destroy);
    // An upgrade may be refused in plain HTTP, so it is given the response that Node does not make for it.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(request.socket);
    } catch {
      // Sent behind a request that still waits for its answer: what follows on this connection could not be told apart.
      socket.destroy();
      return;
    }
    if (!isUpgrade(request)) {
      response.detachSocket(request.socket);
      socket.off('error', destroy);
      readAsOrdinary(server, upgrade);
      return;
    }
    response.on('finish', () => request.socket.destroySoon());
    handle(request, response, upgrade);
  }

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // First and alone: a parser or a compressor in front of it would hold or change what passes.
  app.use((request, response) => handle(request, response));

  const server = createServer({
    noDelay: true,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // A slow upload and a silent stream are both legitimate for as long as they take.
    requestTimeout: 0,
    // Node before 22.21 does not ask: there, the handler of upgrades gives back what is none.
    shouldUpgradeCallback: isUpgrade,
  });
  server.timeout = 0;
  server.maxRequestsPerSocket = 0;
  server.on('request', app);
  // Left to itself Node would answer these; whether the client may go on is for the agent to say.
  server.on('checkContinue', app);
  server.on('checkExpectation', app);
  server.on('upgrade', handleUpgrade);
  server.on('connection', (socket) => {
    // One that was given back comes a second time.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  function cutAll(): void {
    for (const forwarding of underWay) forwarding.cut();
    for (const socket of sockets) socket.destroy();
  }

  async function drain(): Promise<void> {
    draining = true;
    // The close of http.Server would reset idle connections at once, under the hands of a client that is just sending.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_LINGER_MS);
    await closed;
    clearInterval(sweep);
    server.close();
    for (const upstream of upstreams) upstream[Symbol.dispose]();
    // Observations are told on the turn after the end of their stream.
    while (underWay.size > 0) await nextTurn();
  }

  let drained: Promise<void> | undefined;
  async function close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    const cancel = systemClock.schedule(graceMs, cutAll);
    drained ??= drain();
    await drained;
    cancel();
  }

  return {
    listen: (where) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(where, () => {
          server.off('error', reject);
          resolve(server.address() ?? '');
        });
      }),
    close,
    [Symbol.asyncDispose]: () => close({ graceMs: 0 }),
  };
}
