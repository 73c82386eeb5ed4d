import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { openBypass, type Bypass } from './bypass.ts';
import { createDeadline } from './deadline.ts';
import {
  codeOfUpstreamError,
  describeUpstreamError,
  isReset,
  sendError,
  UpstreamTimeout,
  type ProxyErrorCode,
} from './errors.ts';
import type { ExchangeRecord } from './exchange-record.ts';
import { declaresBody, flushHead, type Provenance, requestHeaders, upgradeHeaders } from './headers.ts';
import { lingerAfterAnswer } from './linger.ts';
import { relayRequest } from './relay-request.ts';
import { breakOff, relayInterim, relayResponse } from './relay-response.ts';
import type { Route } from './route.ts';
import { joinUpgraded, readWhileWaiting, type ClientUpgrade } from './upgrade.ts';
import type { Upstream } from './upstream.ts';

export interface ForwardOptions {
  readonly connectTimeoutMs: number;
  /** Between the request's last byte and the response's first; undefined waits for ever. */
  readonly firstByteTimeoutMs: number | undefined;
  /** Lets the chunks of a response pass around Node's parser where they can. */
  readonly passThrough: boolean;
  /** Sends a request once more when the kept connection it was sent on turns out to be closed. */
  readonly replay: boolean;
  /** What the agent is told of who asked for what. */
  readonly provenance: Provenance;
  /** True once the sidecar is stopping: connections are not kept after the answer. */
  readonly isDraining: () => boolean;
  /** The sidecar itself failed; the client was told so. */
  readonly onDefect: (defect: unknown) => void;
}

/** Doing these again does the same (RFC 9110 §9.2.2), so they may be sent again whatever became of the first. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/**
 * How soon after a kept connection was taken it must fail, without a byte of an answer, to be taken for one that the agent
 * had closed before: then a request of any other method is sent once more. RFC 9110 §9.2.2 lets a proxy do so with
 * idempotent methods only. This deviates, on purpose and within this bound: every run is a POST, and without it each
 * connection that an agent closes while idle would cost its client a run. Past the bound the agent may have acted (it
 * may have booked), and the failure is the client's to judge.
 */
const STALE_WITHIN_MS = 100;

/** A request under way. */
export interface Forwarding {
  /** Cuts it because the sidecar stops. */
  cut(): void;
}

/**
 * Sends one request to its agent and the answer back. `upgrade` is given when the client asked to leave HTTP.
 *
 * Two ends close it: the client's (the agent's request is then destroyed at once, whether or not it has answered) and
 * the agent's (before a head came, the client reads an error; afterwards its connection is cut).
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route<Upstream>,
  record: ExchangeRecord,
  options: ForwardOptions,
  upgrade?: ClientUpgrade,
): Forwarding {
  const { agent, target } = route;
  const { socket } = request;
  const endToEnd = requestHeaders(request, agent.authority, record.traceHeaders, options.provenance);
  const upstreamRequest = {
    method: request.method ?? 'GET',
    target,
    headers: upgrade ? upgradeHeaders(endToEnd, upgrade.protocol) : endToEnd,
    framed: declaresBody(request),
  };
  const isIdempotent = IDEMPOTENT_METHODS.has(upstreamRequest.method);
  let upstream: ClientRequest | undefined;
  let incoming: IncomingMessage | undefined;
  let closed = false;
  let upgraded = false;
  const readEarly = upgrade && readWhileWaiting(upgrade);

  const firstByte = createDeadline(options.firstByteTimeoutMs, () => {
    upstream?.destroy(new UpstreamTimeout(`no response within ${options.firstByteTimeoutMs} ms`));
  });
  const body = relayRequest(request, {
    forwarded: record.requestChunk,
    received: record.requestReceived,
    agentIsDue: () => {
      if (!incoming) firstByte.start();
    },
    agentIsReading: firstByte.stop,
  });

  function ask(fresh: boolean): void {
    const attempt = agent.open({ ...upstreamRequest, fresh });
    upstream = attempt;
    let connected = false;
    let settled = false;
    let bypass: Bypass | undefined;
    let bytesReadBefore = 0;

    // A turn later, for a thread that was busy all that time has yet to see what came.
    const stale = createDeadline(isIdempotent ? undefined : STALE_WITHIN_MS, () => setImmediate(() => body.release()));
    const connecting = createDeadline(options.connectTimeoutMs, () => {
      attempt.destroy(new UpstreamTimeout(`no connection within ${options.connectTimeoutMs} ms`));
    });
    attempt.on('socket', (agentSocket) => {
      if (options.passThrough && !upgrade) bypass = openBypass(attempt, agentSocket, socket);
      bytesReadBefore = agentSocket.bytesRead;
      connected = attempt.reusedSocket;
      if (connected) {
        stale.start();
        return;
      }
      connecting.start();
      agentSocket.once(agent.connectedEvent, () => {
        connected = true;
        connecting.stop();
        // A connection of its own cannot have gone stale.
        body.release();
      });
    });
    relayInterim(attempt, request, response);
    attempt.on('response', (head) => {
      settled = true;
      answer(attempt, head, bypass);
    });
    if (upgrade) {
      attempt.on('upgrade', (head, agentSocket, firstBytes) => {
        settled = true;
        upgraded = true;
        incoming = head;
        firstByte.stop();
        record.head(head);
        response.detachSocket(socket);
        joinUpgraded(upgrade, readEarly?.() ?? upgrade.firstBytes, { head, socket: agentSocket, firstBytes });
      });
    }
    attempt.on('error', (error: NodeJS.ErrnoException) => {
      // Node would take an answer that only the end of its connection delimits for whole.
      if (incoming && !incoming.complete) incoming.destroy();
      if (settled || closed) return;
      settled = true;
      const unheard = !connected || (attempt.socket?.bytesRead ?? bytesReadBefore) === bytesReadBefore;
      const mayRepeat = options.replay && !fresh && (attempt.reusedSocket || !connected);
      if (mayRepeat && isReset(error) && unheard && body.isHeld()) start(true);
      else fail(error, connected);
    });
    attempt.on('close', () => {
      connecting.stop();
      stale.stop();
      // For example a 101 that nobody asked for: Node drops the connection without an error.
      if (!settled && !closed) refuse('upstream_invalid', describeUpstreamError(agent.name, 'upstream_invalid'));
    });
    flushHead(attempt);
    body.to(attempt);
    record.asked();
  }

  /** RFC 9112 §9.3.1: a request on a kept connection that the server closed just then may be sent once more. */
  function start(fresh: boolean): void {
    try {
      ask(fresh);
    } catch (defect) {
      options.onDefect(defect);
      refuse('internal_error', 'The sidecar could not forward this request. This is a defect of it: please report it.');
    }
  }

  function answer(attempt: ClientRequest, head: IncomingMessage, bypass: Bypass | undefined): void {
    incoming = head;
    firstByte.stop();
    body.release();
    if (!isReadable(head, attempt)) {
      attempt.destroy();
      return refuse('upstream_invalid', describeUpstreamError(agent.name, 'upstream_invalid'));
    }
    lingerAfterAnswer(request);
    record.head(head);
    if (options.isDraining()) response.shouldKeepAlive = false;
    try {
      relayResponse(head, request, response, bypass, {
        forwarded: record.responseChunk,
        broken: () => {
          if (closed) return;
          record.failed('upstream_reset');
          breakOff(head, request);
        },
      });
    } catch {
      upstream?.destroy();
      refuse('upstream_invalid', describeUpstreamError(agent.name, 'upstream_invalid'));
    }
  }

  function fail(error: NodeJS.ErrnoException, connected: boolean): void {
    const code = codeOfUpstreamError(error, connected);
    refuse(code, describeUpstreamError(agent.name, code, error));
  }

  function refuse(code: ProxyErrorCode, message: string): void {
    firstByte.stop();
    record.failed(code);
    body.discard();
    if (response.headersSent) return breakOff(incoming, request);
    lingerAfterAnswer(request);
    if (options.isDraining()) response.shouldKeepAlive = false;
    sendError(response, code, message);
  }

  /**
   * The agent answered before it had read everything. It may read on; once it is gone, the client is still sending and
   * nobody else would read it.
   */
  function discardWhenLeft(): void {
    if (!upstream || upstream.destroyed) body.discard();
    else upstream.once('close', () => body.discard());
  }

  function close(): void {
    if (closed) return;
    closed = true;
    socket.off('close', close);
    firstByte.stop();
    const whole = upgraded || response.writableFinished;
    if (!whole) upstream?.destroy();
    else if (!upgraded && !request.complete) discardWhenLeft();
    const status = upgraded ? 101 : response.headersSent ? response.statusCode : undefined;
    record.closed(status, whole);
  }

  response.on('error', () => {});
  response.on('close', close);
  // A response that still waits behind another one on its connection never sees 'close'.
  socket.on('close', close);
  request.on('close', () => {
    if (request.complete) return;
    // It left while sending. The answer may be out already, so closing alone does not end the agent's request.
    close();
    upstream?.destroy();
  });
  start(false);

  return {
    cut() {
      if (closed) return;
      record.failed('shutting_down');
      upstream?.destroy();
      socket.destroy();
    },
  };
}

/**
 * Whether a response's framing means the same to everybody. Only chunks are a coding that the client did not have to ask for
 * (RFC 9112 §7); nobody asked for another. Of a name that is not quite `chunked`, for a tab behind it, Node shows nothing:
 * it only means to read up to the end of the connection, which it then does not mean to keep.
 */
function isReadable({ headers, httpVersion, httpVersionMajor }: IncomingMessage, { shouldKeepAlive }: ClientRequest) {
  if (httpVersionMajor !== 1) return false;
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return true;
  const endsConnection = httpVersion !== '1.1' || /\bclose\b/i.test(headers.connection ?? '');
  return coding.toLowerCase() === 'chunked' && (shouldKeepAlive || endsConnection);
}
