import { ServerResponse, type IncomingMessage } from 'node:http';
import { Server as NetServer, type AddressInfo, type ListenOptions } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBag } from '../lib/bag.ts';
import { systemClock } from '../lib/clock.ts';
import { BACKLOG, takeBacklog } from './backlog.ts';
import { createConnections } from './connections.ts';
import { type AgentFailure, sendError } from './errors.ts';
import { openRecord } from './exchange-record.ts';
import { forward, type Forwarding } from './forward.ts';
import { createHttpServer, MAX_HEADER_BYTES } from './http-server.ts';
import { endLingering } from './linger.ts';
import type { ProxyOptions } from './options.ts';
import { refuseDoubtful } from './refusals.ts';
import { faultOf } from './request-fault.ts';
import { createRouter } from './route.ts';
import { createTapPool } from './tap.ts';
import { isUpgrade, readAsOrdinary, type ClientUpgrade } from './upgrade.ts';
import { createUpstream } from './upstream.ts';

export interface ProxyServer extends AsyncDisposable {
  /** Resolves when connections are accepted; rejects when the address is taken or not ours. */
  listen(where: ListenOptions): Promise<AddressInfo | string>;
  /** Connections accepted since the start. */
  readonly accepted: () => number;
  /** From now on each answer is the last on its connection. New connections are still accepted. */
  startDraining(): void;
  /**
   * Stops accepting and lets what is under way run for `graceMs`, then cuts it. Resolves when every observation has been
   * told its end. Called again, it can only shorten the grace.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** While stopping, how long an idle connection stays, so that a client that is just sending is answered, not reset. */
const IDLE_LINGER_MS = 250;

/**
 * The sidecar's public side: one HTTP server that sends each request to the agent whose prefix covers its path, and the
 * answer back, byte for byte. It makes no decision about what passes.
 *
 * @throws {TypeError} when an agent's url or match cannot be used.
 */
export function createProxyServer(options: ProxyOptions): ProxyServer {
  const { onFault, onRefused = () => {}, maxHeaderBytes = MAX_HEADER_BYTES } = options;
  const upstreams = options.agents.map((agent) => createUpstream(agent, { maxHeaderBytes }));
  const route = createRouter(upstreams);
  const openTap = options.tap ? createTapPool(options.tap, options.isOverloaded) : () => undefined;
  const recordOptions = { ...options, openTap };
  const { passThrough = true, replay = true, hostHeader = 'agent', forwardedHeaders = 'append' } = options;
  const { connectTimeoutMs, firstByteTimeoutMs } = options;
  const forwardOptions = {
    connectTimeoutMs,
    firstByteTimeoutMs,
    passThrough,
    replay,
    provenance: { hostHeader, forwardedHeaders },
    onAgentFailed(failure: AgentFailure) {
      try {
        options.onAgentFailed?.(failure);
      } catch (fault) {
        onFault(fault);
      }
    },
    onDefect: onFault,
  };
  const underWay = createBag<Forwarding>();
  const connections = createConnections(() => onRefused('waiting_limit'));
  let draining = false;

  function handle(request: IncomingMessage, response: ServerResponse, upgrade?: ClientUpgrade): void {
    // What is pipelined behind the last answer would be lost.
    const isDraining = () => draining && connections.latestResponse(request.socket) === response;
    const fault = faultOf(request);
    if (fault) return refuse(request, response, fault);
    const routed = route(request.url ?? '/');
    if (!routed) {
      onRefused('no_route');
      request.resume();
      if (isDraining()) response.shouldKeepAlive = false;
      sendError(
        response,
        'no_route',
        'No agent is configured for this path. Compare it with the `match` of each agent.',
      );
      return;
    }
    const record = openRecord(request, routed, recordOptions, () => leave());
    const leave = underWay.add(forward(request, response, routed, record, { ...forwardOptions, isDraining }, upgrade));
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
      // Sent behind a request that still waits for its answer, which comes first: what follows could not be told apart.
      socket.on('end', destroy).resume();
      return connections.ask(request, response, () => endLingering(socket));
    }
    if (!isUpgrade(request)) {
      response.detachSocket(request.socket);
      socket.off('error', destroy);
      readAsOrdinary(server, upgrade);
      return;
    }
    response.on('finish', () => request.socket.destroySoon());
    connections.ask(request, response, () => handle(request, response, upgrade));
  }

  const server = createHttpServer(options);
  const refuse = refuseDoubtful(server, connections, onRefused);
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    connections.ask(request, response, () => handle(request, response));
  };
  server.on('request', receive);
  // Left to itself Node would answer these; whether the client may go on is for the agent to say.
  server.on('checkContinue', receive);
  server.on('checkExpectation', receive);
  server.on('upgrade', handleUpgrade);
  server.on('connection', (socket) => connections.add(socket));

  function cutAll(): void {
    for (const forwarding of underWay.items()) forwarding.cut();
    connections.cut();
  }

  async function drain(): Promise<void> {
    draining = true;
    if (server.listening) await takeBacklog(connections);
    // The close of http.Server would reset idle connections at once, under the hands of a client that is just sending.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    const sweep = setInterval(() => connections.closeIdle(), IDLE_LINGER_MS);
    await closed;
    clearInterval(sweep);
    server.close();
    for (const upstream of upstreams) upstream[Symbol.dispose]();
    // Observations are told on the turn after the end of their stream.
    while (underWay.size() > 0) await nextTurn();
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
        server.listen({ backlog: BACKLOG, ...where }, () => {
          server.off('error', reject);
          resolve(server.address() ?? '');
        });
      }),
    accepted: connections.accepted,
    startDraining: () => {
      draining = true;
    },
    close,
    [Symbol.asyncDispose]: () => close({ graceMs: 0 }),
  };
}
