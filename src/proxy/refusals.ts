import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Connections } from './connections.ts';
import { errorText, type ProxyErrorCode, sendError } from './errors.ts';
import { endLingering } from './linger.ts';

/** Why something was turned away before any agent was asked. */
export const REFUSALS = [
  'bad_request',
  'no_route',
  'head_timeout',
  'head_too_large',
  'tunnel_refused',
  'coding_unsupported',
  'version_unsupported',
  'connection_limit',
  'waiting_limit',
] as const satisfies readonly (ProxyErrorCode | 'connection_limit' | 'waiting_limit')[];
export type Refusal = (typeof REFUSALS)[number];

/** What a refusal tells its client. */
export interface Fault {
  readonly code: Refusal & ProxyErrorCode;
  /** What was expected, without a byte of what came. */
  readonly message: string;
}

/** Refuses a request that was read and is not to be forwarded. */
export type Refuse = (request: IncomingMessage, response: ServerResponse, fault: Fault) => void;

/**
 * Answers, and counts, what is not forwarded for what it is: connections over the limit, bytes that are no HTTP, heads that
 * are too large or too slow, CONNECT, and the requests that are given to the returned function. Each gets one clean answer
 * and the end of its connection; nothing of it is kept or shown.
 */
export function refuseDoubtful(
  server: Server,
  { latestResponse }: Pick<Connections, 'latestResponse'>,
  onRefused: (refusal: Refusal) => void,
): Refuse {
  const refused = new WeakSet<Duplex>();

  /** Whether a request was read of which the body is not there yet. */
  function isReceiving(connection: Duplex): boolean {
    const latest = latestResponse(connection);
    return latest !== undefined && !latest.req.complete;
  }

  function refuse(connection: Duplex, code: Fault['code'], message: string): void {
    // The parser fails again with every further read.
    if (refused.has(connection)) return;
    refused.add(connection);
    onRefused(code);
    const answer = () => say(connection, errorText(code, message));
    const pending = latestResponse(connection);
    if (!pending || pending.writableFinished) answer();
    // An answer that is still due comes first: what is written before it would be taken for it.
    else if (pending.req.complete) pending.once('close', answer);
    // The fault is in the body of the request that is still being forwarded. The agent is let go of at once.
    else if (pending.socket && !pending.headersSent)
      connection.end(errorText(code, message), () => connection.destroy());
    else connection.destroy();
  }

  server.on('clientError', (error: NodeJS.ErrnoException, connection) => {
    const isEnd = error.code === 'HPE_INVALID_EOF_STATE';
    if (isEnd && isReceiving(connection)) {
      // A client that leaves while it sends is nothing doubtful.
      connection.destroy();
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      refuse(connection, 'head_timeout', 'The request head did not arrive in time.');
    } else if (error.code === 'HPE_HEADER_OVERFLOW') {
      refuse(connection, 'head_too_large', 'The request target and headers are larger than the sidecar takes.');
    } else if (error.code?.startsWith('HPE_')) {
      refuse(connection, 'bad_request', 'This is not HTTP/1.1 as RFC 9112 defines it.');
    } else {
      // The client is gone.
      connection.destroy();
    }
  });
  server.on('connect', (_: IncomingMessage, connection) => {
    connection.on('error', () => connection.destroy());
    connection.resume();
    refuse(connection, 'tunnel_refused', 'The sidecar forwards to its agents and is no tunnel: CONNECT is refused.');
  });
  server.on('drop', () => onRefused('connection_limit'));

  return (request, response, { code, message }) => {
    refused.add(request.socket);
    onRefused(code);
    request.resume();
    response.shouldKeepAlive = false;
    sendError(response, code, message);
  };
}

function say(connection: Duplex, text: Buffer): void {
  if (connection.writable) endLingering(connection, text);
  else connection.destroy();
}
