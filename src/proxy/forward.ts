import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { isPlainlyFramed, openAttempt } from './attempt.ts';
import type { Bypass } from './bypass.ts';
import { createDeadline } from './deadline.ts';
import {
  type AgentErrorCode,
  type AgentFailure,
  causeOf,
  codeOfUpstreamError,
  describeUpstreamError,
  type ProxyErrorCode,
  sendError,
  UpstreamTimeout,
} from './errors.ts';
import type { ExchangeRecord } from './exchange-record.ts';
import { declaresBody, flushHead, type Provenance, requestHeaders, upgradeHeaders } from './headers.ts';
import { lingerAfterAnswer } from './linger.ts';
import { relayRequest } from './relay-request.ts';
import { breakOff, relayInterim, relayResponse } from './relay-response.ts';
import type { Route } from './route.ts';
import { type AgentUpgrade, type ClientUpgrade, joinUpgraded, readWhileWaiting } from './upgrade.ts';
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
  /** Told once the client was answered, or cut off. */
  readonly onAgentFailed: (failure: AgentFailure) => void;
  /** The sidecar itself failed; the client was told so. */
  readonly onDefect: (defect: unknown) => void;
}

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
  const asked = {
    method: request.method ?? 'GET',
    target,
    headers: upgrade ? upgradeHeaders(endToEnd, upgrade.protocol) : endToEnd,
    framed: declaresBody(request),
  };
  const attemptOptions = {
    connectTimeoutMs: options.connectTimeoutMs,
    passTo: options.passThrough && !upgrade ? socket : undefined,
  };
  let upstream: ClientRequest | undefined;
  let incoming: IncomingMessage | undefined;
  let brokenBy: NodeJS.ErrnoException | undefined;
  let closed = false;
  let upgraded = false;
  /** The sidecar ends the agent's connection, be it for a stop or a defect: nothing that follows is the agent's fault. */
  let isOurDoing = false;
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
    const attempt = openAttempt(agent, { ...asked, fresh }, attemptOptions, {
      committed: () => body.release(),
      interim: (information) => relayInterim(information, request, response),
      answered: (head, bypass) => answer(attempt, head, bypass),
      ...(upgrade && { switched: (agentUpgrade: AgentUpgrade) => joinSides(upgrade, agentUpgrade) }),
      failed({ code, cause, mayRepeat }) {
        if (closed) return;
        if (options.replay && mayRepeat && !fresh && body.isHeld()) start(true);
        else refuseFor(code, cause);
      },
      defect(thrown) {
        isOurDoing = true;
        record.failed('internal_error');
        options.onDefect(thrown);
      },
      broken(cause) {
        brokenBy = cause;
        // Node would take an answer that only the end of its connection delimits for whole.
        if (incoming && !incoming.complete) incoming.destroy();
      },
    });
    upstream = attempt;
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
    if (!isPlainlyFramed(head, attempt)) {
      attempt.destroy();
      return refuseFor('upstream_invalid');
    }
    lingerAfterAnswer(request);
    record.head(head);
    if (options.isDraining()) response.shouldKeepAlive = false;
    try {
      relayResponse(head, request, response, bypass, {
        forwarded: record.responseChunk,
        broken: () => {
          if (closed) return;
          // A connection that was closed in the ordinary way breaks an answer as well, and no error tells.
          const code = brokenBy ? codeOfUpstreamError(brokenBy, true) : 'upstream_reset';
          record.failed(code);
          breakOff(head, request);
          blame(code, brokenBy);
        },
      });
    } catch {
      upstream?.destroy();
      refuseFor('upstream_invalid');
    }
  }

  function joinSides(client: ClientUpgrade, agentUpgrade: AgentUpgrade): void {
    upgraded = true;
    incoming = agentUpgrade.head;
    firstByte.stop();
    record.head(agentUpgrade.head);
    response.detachSocket(socket);
    joinUpgraded(client, readEarly?.() ?? client.firstBytes, agentUpgrade);
  }

  function blame(code: AgentErrorCode, error?: NodeJS.ErrnoException): void {
    if (isOurDoing) return;
    const { name, host, port } = agent;
    const cause = causeOf(error);
    options.onAgentFailed({ agent: name, host, port, code, ...(cause !== undefined && { cause }) });
  }

  function refuseFor(code: AgentErrorCode, error?: NodeJS.ErrnoException): void {
    refuse(code, describeUpstreamError(agent.name, code, error));
    blame(code, error);
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
      isOurDoing = true;
      record.failed('shutting_down');
      upstream?.destroy();
      socket.destroy();
    },
  };
}
