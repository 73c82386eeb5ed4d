import { STATUS_CODES, type ServerResponse } from 'node:http';

/** Why the sidecar answered in the agent's place. A closed list; see the table of statuses below. */
export type ProxyErrorCode = keyof typeof STATUS;

/** The codes for which the agent is to blame. */
export type AgentErrorCode = Extract<ProxyErrorCode, `upstream_${string}`>;

/** An agent was asked and gave no answer, or none that is whole. */
export interface AgentFailure {
  /** Its name. */
  readonly agent: string;
  /** Host name, address or socket path. */
  readonly host: string;
  /** 0 for a unix socket. */
  readonly port: number;
  readonly code: AgentErrorCode;
  /** The system's or the parser's code, or what limit ran out; nothing that was sent. */
  readonly cause?: string;
}

const STATUS = {
  /** Not HTTP, or HTTP that two readers could take for two different requests. */
  bad_request: 400,
  /** No agent's `match` covers the path. */
  no_route: 404,
  /** The head did not come whole within its time. */
  head_timeout: 408,
  /** The head, the request target included, is over `proxy.max_header_size`. */
  head_too_large: 431,
  /** Our own fault: a defect, never the agent's or the client's doing. */
  internal_error: 500,
  /** CONNECT: the sidecar is no tunnel. */
  tunnel_refused: 501,
  /** A `Transfer-Encoding` other than `chunked`. */
  coding_unsupported: 501,
  /** No connection could be made: refused, unknown host, bad certificate. */
  upstream_unreachable: 502,
  /** The connection was made and broke before the response was complete. */
  upstream_reset: 502,
  /** What came back is not HTTP, or not up to its end, or has a head beyond what the parser takes. */
  upstream_invalid: 502,
  /** The sidecar stopped and its grace period was over. */
  shutting_down: 503,
  /** No connection, or no first byte, within the configured time. */
  upstream_timeout: 504,
  /** A version of HTTP other than 1.0 and 1.1. */
  version_unsupported: 505,
} as const satisfies Record<string, number>;

/** A limit of our own that ran out while waiting for the agent. */
export class UpstreamTimeout extends Error {
  override readonly name = 'UpstreamTimeout';
}

/** The other side closed: on reading, or on writing to what it had closed before. */
export function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** The agent answers in a way that cannot be meant, or is no HTTP from some point on. */
export class UpstreamInvalid extends Error {
  override readonly name = 'UpstreamInvalid';
}

/**
 * What a failed request to the agent is called. `connected`: the connection to the agent had been made.
 */
export function codeOfUpstreamError(error: NodeJS.ErrnoException, connected: boolean): AgentErrorCode {
  if (error instanceof UpstreamTimeout) return 'upstream_timeout';
  if (error instanceof UpstreamInvalid || error.code?.startsWith('HPE_')) return 'upstream_invalid';
  return connected ? 'upstream_reset' : 'upstream_unreachable';
}

/** Why, in a word or in words of ours: other messages may hold addresses. */
export function causeOf(error: NodeJS.ErrnoException | undefined): string | undefined {
  const isOurs = error instanceof UpstreamTimeout || error instanceof UpstreamInvalid;
  return isOurs ? error.message : error?.code;
}

/** The text a client reads. It names the agent and the system's error code; no address, header or body. */
export function describeUpstreamError(agent: string, code: AgentErrorCode, error?: NodeJS.ErrnoException): string {
  const cause = error?.code === undefined ? '' : ` (${error.code})`;
  switch (code) {
    case 'upstream_unreachable':
      return `Agent "${agent}" cannot be reached${cause}. Check that it is running and that its url in the sidecar's configuration is right.`;
    case 'upstream_timeout':
      return `Agent "${agent}" did not answer in time: ${error?.message}.`;
    case 'upstream_invalid':
      if (error?.code === 'HPE_HEADER_OVERFLOW') {
        return `Agent "${agent}" answered with a head larger than the sidecar takes. Send less in it, or raise proxy.max_header_size.`;
      }
      return `Agent "${agent}" did not answer with HTTP that can be forwarded${cause}.`;
    default:
      return `Agent "${agent}" closed the connection before it answered${cause}.`;
  }
}

/** Answers in the agent's place: `{"error": {"code", "message"}}`. Call it only before a head was sent. */
export function sendError(response: ServerResponse, code: ProxyErrorCode, message: string): void {
  const body = bodyOf(code, message);
  // An agent's phrase may be left from a head that could not be sent.
  response.statusMessage = '';
  response.writeHead(STATUS[code], { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

/** The same answer as it is on the wire, for a connection on which there is no response to send it by. It is the last one. */
export function errorText(code: ProxyErrorCode, message: string): Buffer {
  const body = bodyOf(code, message);
  const head = [
    `HTTP/1.1 ${STATUS[code]} ${STATUS_CODES[STATUS[code]]}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

function bodyOf(code: ProxyErrorCode, message: string): Buffer {
  return Buffer.from(JSON.stringify({ error: { code, message } }));
}
