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
import { createTapPool } from './tap.ts';
import { isUpgrade, type ClientUpgrade } from './upgrade.ts';
import { createUpstream, type ProxyAgent } from './upstream.ts';

export interface ProxyOptions {
  /** At least one; the longest `match` that covers a path wins. */
  readonly agents: readonly ProxyAgent[];
  readonly observe: Observe;
  readonly tap?: {
    /** Share of exchanges that are copied, 0 to 1. Default 1. */
    readonly share?: number;
    /** Copied bytes of one exchange, request and response together. Default 1 MiB. */
    readonly maxExchangeBytes?: number;
    /** Memory of all copies whose exchange has not ended. Default 64 MiB. */
    readonly maxTotalBytes?: number;
  };
  /** Until a connection to the agent stands; then 504. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** From the request's last byte to the response's first; then 504. Default: none. */
  readonly firstByteTimeoutMs?: number;
  /** Request header that names the tenant, for captures. */
  readonly tenantHeader?: string;
  /** Bytes of an exchange that were forwarded and, over a bound of the tap, not copied. Called once for each exchange. */
  readonly onTapDropped?: (bytes: number) => void;
  /** Something on the observing side threw. The stream went on. */
  readonly onFault?: (fault: unknown) => void;
  /** Epoch milliseconds, fractional. */
  readonly now?: () => number;
  /** In [0, 1); decides which exchanges `tap.share` takes. */
  readonly random?: () => number;
}

export interface ProxyServer extends AsyncDisposable {
  /** Resolves when connections are accepted; rejects when the address is taken or not ours. */
  listen(where: ListenOptions): Promise<AddressInfo | string>;
  /** Requests under way, by agent name; every agent is there. */
  activeStreams(): ReadonlyMap<string, number>;
  /**
   * Stops accepting and lets what is under way run for `graceMs` (default 30 s), then cuts it. Resolves when every
   * observation has been told its end. Called again, it can only shorten the grace.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const MEBIBYTE = 1024 * 1024;

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
  const { agents, tap = {}, now = () => systemClock.now(), random = Math.random } = options;
  const upstreams = agents.map(createUpstream);
  const route = createRouter(upstreams);
  const openTap = createTapPool({
    maxExchangeBytes: tap.maxExchangeBytes ?? MEBIBYTE,
    maxTotalBytes: tap.maxTotalBytes ?? 64 * MEBIBYTE,
  });
  const share = tap.share ?? 1;
  const recordOptions = {
    observe: options.observe,
    openTap: () => (random() < share ? openTap() : undefined),
    tenantHeader: options.tenantHeader?.toLowerCase(),
    now,
    onTapDropped: options.onTapDropped ?? (() => {}),
    onFault: options.onFault ?? (() => {}),
  };
  const underWay = new Map(agents.map(({ name }) => [name, new Set<Forwarding>()]));
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
    const siblings = underWay.get(routed.agent.name);
    const forwardOptions = {
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      firstByteTimeoutMs: options.firstByteTimeoutMs,
      isDraining: () => draining,
      onDefect: recordOptions.onFault,
    };
    const record = openRecord(request, routed, { ...recordOptions, onTold: () => siblings?.delete(forwarding) });
    const forwarding = forward(request, response, routed, record, forwardOptions, upgrade);
    siblings?.add(forwarding);
  }

  function handleUpgrade(request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    socket.on('error', () => socket.destroy());
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
    response.on('finish', () => request.socket.destroySoon());
    handle(request, response, { request, protocol: request.headers.upgrade ?? '', socket, firstBytes });
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
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  function allUnderWay(): Forwarding[] {
    return [...underWay.values()].flatMap((forwardings) => [...forwardings]);
  }

  function cutAll(): void {
    for (const forwarding of allUnderWay()) forwarding.cut();
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
    while (allUnderWay().length > 0) await nextTurn();
  }

  let drained: Promise<void> | undefined;
  async function close({ graceMs = 30_000 }: { readonly graceMs?: number } = {}): Promise<void> {
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
    activeStreams: () => new Map([...underWay].map(([name, open]) => [name, open.size])),
    close,
    [Symbol.asyncDispose]: () => close({ graceMs: 0 }),
  };
}
