import type { ClientRequest, IncomingMessage, InformationEvent } from 'node:http';
import type { Socket } from 'node:net';
import { type Bypass, openBypass } from './bypass.ts';
import { createDeadline } from './deadline.ts';
import { type AgentErrorCode, codeOfUpstreamError, isReset, UpstreamInvalid, UpstreamTimeout } from './errors.ts';
import type { AgentUpgrade } from './upgrade.ts';
import type { Upstream, UpstreamRequest } from './upstream.ts';

export interface AttemptOptions {
  readonly connectTimeoutMs: number;
  /** Where the chunks of the response may go as they are; absent: all of it is parsed. */
  readonly passTo: Socket | undefined;
}

/** Why an attempt came to nothing. */
interface Failure {
  readonly code: AgentErrorCode;
  readonly cause?: NodeJS.ErrnoException;
  /**
   * The agent cannot have acted on the request, or acting twice does no harm: the connection did not come about, or it was
   * kept from before and turned out to be closed.
   */
  readonly mayRepeat: boolean;
}

export interface AttemptEvents {
  /** From now on a failure is not one that may be repeated; may be told more than once. */
  readonly committed: () => void;
  readonly interim: (information: InformationEvent) => void;
  readonly answered: (head: IncomingMessage, bypass: Bypass | undefined) => void;
  /** The agent left HTTP, as it was asked to. Absent: it was not. */
  readonly switched?: (upgrade: AgentUpgrade) => void;
  /** Told at most once, and instead of an answer. */
  readonly failed: (failure: Failure) => void;
  /** The sidecar itself failed over what the agent sent. Its connection ends by that, which is told as well. */
  readonly defect: (defect: unknown) => void;
  /** The connection broke behind the head of the answer, or what came on it was not HTTP any more. */
  readonly broken: (cause: NodeJS.ErrnoException) => void;
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

/** Far more than anyone sends. They are passed on whether or not the client reads, so their number is their bound. */
const MAX_INTERIM_RESPONSES = 1000;

/** Asks the agent once. The returned request is yet to be written. */
export function openAttempt(
  agent: Upstream,
  asked: UpstreamRequest,
  { connectTimeoutMs, passTo }: AttemptOptions,
  events: AttemptEvents,
): ClientRequest {
  const request = agent.open(asked);
  let connected = false;
  let settled = false;
  let bypass: Bypass | undefined;
  let bytesReadBefore = 0;

  // A turn later, for a thread that was busy all that time has yet to see what came.
  const stale = createDeadline(IDEMPOTENT_METHODS.has(asked.method) ? undefined : STALE_WITHIN_MS, () =>
    setImmediate(events.committed),
  );
  const connecting = createDeadline(connectTimeoutMs, () => {
    request.destroy(new UpstreamTimeout(`no connection within ${connectTimeoutMs} ms`));
  });

  request.on('socket', (socket) => {
    if (passTo) bypass = openBypass(request, socket, passTo, events.defect);
    bytesReadBefore = socket.bytesRead;
    connected = request.reusedSocket;
    if (connected) {
      stale.start();
      return;
    }
    connecting.start();
    socket.once(agent.connectedEvent, () => {
      connected = true;
      connecting.stop();
      // A connection of its own cannot have gone stale.
      events.committed();
    });
  });
  let interimResponses = 0;
  request.on('information', (information) => {
    interimResponses += 1;
    if (interimResponses > MAX_INTERIM_RESPONSES) request.destroy(new UpstreamInvalid('too many interim responses'));
    else events.interim(information);
  });
  request.on('response', (head) => {
    // Given up in the same read.
    if (request.destroyed) return;
    settled = true;
    events.answered(head, bypass);
  });
  const { switched } = events;
  if (switched) {
    request.on('upgrade', (head, socket, firstBytes) => {
      settled = true;
      switched({ head, socket, firstBytes });
    });
  }
  request.on('error', (cause: NodeJS.ErrnoException) => {
    if (settled) return events.broken(cause);
    settled = true;
    const isUnheard = !connected || (request.socket?.bytesRead ?? bytesReadBefore) === bytesReadBefore;
    const mayRepeat = (request.reusedSocket || !connected) && isReset(cause) && isUnheard;
    events.failed({ code: codeOfUpstreamError(cause, connected), cause, mayRepeat });
  });
  request.on('close', () => {
    connecting.stop();
    stale.stop();
    // For example a 101 that nobody asked for: Node drops the connection without an error.
    if (!settled) events.failed({ code: 'upstream_invalid', mayRepeat: false });
  });
  return request;
}

/**
 * Whether a response's framing means the same to everybody. Only chunks are a coding that the client did not have to ask for
 * (RFC 9112 §7); nobody asked for another. Of a name that is not quite `chunked`, for a tab behind it, Node shows nothing:
 * it only means to read up to the end of the connection, which it then does not mean to keep.
 */
export function isPlainlyFramed(
  { headers, httpVersion, httpVersionMajor }: IncomingMessage,
  { shouldKeepAlive }: ClientRequest,
): boolean {
  if (httpVersionMajor !== 1) return false;
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return true;
  const endsConnection = httpVersion !== '1.1' || /\bclose\b/i.test(headers.connection ?? '');
  return coding.toLowerCase() === 'chunked' && (shouldKeepAlive || endsConnection);
}
