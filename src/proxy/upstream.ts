import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { AgentConnections, ASK_AFTER_SILENCE, SecureAgentConnections } from './agent-socket.ts';

/** How long an idle connection to an agent is kept: below what common servers keep one (5 s), so that we close first. */
const IDLE_CONNECTION_MS = 4_000;

/** Last in, first out: connections that are not needed any more fall idle together. */
const POOLING = {
  ...ASK_AFTER_SILENCE,
  keepAliveMsecs: ASK_AFTER_SILENCE.keepAliveInitialDelay,
  scheduling: 'lifo',
  timeout: IDLE_CONNECTION_MS,
} as const;

export interface UpstreamRequest {
  readonly method: string;
  /** Request target: path and query. */
  readonly target: string;
  readonly headers: readonly string[];
  /** The client announced a body, so the headers say how it is framed. */
  readonly framed: boolean;
  /** Never take a connection that was used before. */
  readonly fresh?: boolean;
}

/** One agent from the configuration. */
export interface ProxyAgent {
  /** Label in observations and error messages. */
  readonly name: string;
  /** `http:`, `https:` or `unix:/path/to.sock`; its path is prepended to what is left of the client's. */
  readonly url: string;
  /** Path prefix on the sidecar, matched up to a segment boundary. */
  readonly match: string;
}

/** The way to one agent: its address and its pool of connections. */
export interface Upstream extends Disposable {
  readonly name: string;
  readonly match: string;
  /** Host name, address or socket path. */
  readonly host: string;
  /** 0 for a unix socket. */
  readonly port: number;
  /** What the agent expects in `Host`. */
  readonly authority: string;
  /** Path of the agent's url; `/` when it has none. */
  readonly basePath: string;
  /** Event of a new connection after which it can carry requests. */
  readonly connectedEvent: 'connect' | 'secureConnect';
  open(request: UpstreamRequest): ClientRequest;
}

export interface UpstreamLimits {
  /** Bytes of the agent's response head. */
  readonly maxHeaderBytes: number;
}

/**
 * Reads an agent's url and makes its pool; nothing is connected yet.
 *
 * @throws {TypeError} on any other scheme, and on parts that could not be honoured.
 */
export function createUpstream({ name, url: agentUrl, match }: ProxyAgent, limits: UpstreamLimits): Upstream {
  const url = parseAgentUrl(name, agentUrl);
  const secure = url.protocol === 'https:';
  const pool = secure ? new SecureAgentConnections(POOLING) : new AgentConnections(POOLING);
  // Each of its requests has a connection of its own, which is not kept.
  const single = secure ? new SecureAgentConnections(ASK_AFTER_SILENCE) : new AgentConnections(ASK_AFTER_SILENCE);
  // As an option, 0 would be taken for the default.
  single.maxFreeSockets = 0;
  const send = secure ? httpsRequest : httpRequest;
  const unix = url.protocol === 'unix:';
  const host = unix ? decodeURIComponent(url.pathname) : url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = unix ? 0 : Number(url.port) || (secure ? 443 : 80);
  // Said here, or Node would look for the name that the certificate is checked for in `Host`, which may be the client's.
  const servername = isIP(host) === 0 ? host : '';
  const address: RequestOptions = unix ? { socketPath: host } : { host, port, ...(secure && { servername }) };
  const parsing = { maxHeaderSize: limits.maxHeaderBytes, insecureHTTPParser: false };

  return {
    name,
    match,
    host,
    port,
    authority: unix ? 'localhost' : url.host,
    basePath: unix ? '/' : url.pathname,
    connectedEvent: secure ? 'secureConnect' : 'connect',
    open({ method, target, headers, framed, fresh }) {
      // `timeout: 0` takes the pool's idle timer off a connection in use: silence is no fault.
      const options: RequestOptions = {
        ...address,
        ...parsing,
        method,
        path: target,
        agent: fresh ? single : pool,
        timeout: 0,
      };
      if (framed || BODILESS_METHODS.has(method)) return prepared(send({ ...options, headers }));
      // Given as a list, the head of a POST without a body would be sent as chunked; set one by one, it stays as it is.
      const request = prepared(send({ ...options, setHost: false }));
      request.useChunkedEncodingByDefault = false;
      for (let index = 0; index + 1 < headers.length; index += 2) {
        request.appendHeader(headers[index]!, headers[index + 1]!);
      }
      return request;
    },
    [Symbol.dispose]() {
      pool.destroy();
      single.destroy();
    },
  };
}

/** Methods whose requests Node takes to have no body, unless they say otherwise. */
const BODILESS_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

function prepared(request: ClientRequest): ClientRequest {
  // Node drops response fields past a count without a word; the size of the head is bounded all the same.
  request.maxHeadersCount = 0;
  return request.once('response', putTimeoutFirst);
}

/** Node's pool looks for the agent's idle timeout at the beginning of `Keep-Alive` only (RFC 2068 §19.7.1 names no order). */
function putTimeoutFirst({ headers }: IncomingMessage): void {
  const timeout = /(?:^|[\s,;])(timeout=\d+)/i.exec(String(headers['keep-alive'] ?? ''))?.[1];
  if (timeout !== undefined) headers['keep-alive'] = timeout.toLowerCase();
}

function parseAgentUrl(name: string, agentUrl: string): URL {
  const url = URL.parse(agentUrl);
  if (!url || !['http:', 'https:', 'unix:'].includes(url.protocol)) {
    throw new TypeError(
      `Agent "${name}" has a url that is not http:, https: or unix:. Expected for example http://localhost:8000/agent.`,
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `Agent "${name}" has a url with credentials, a query or a fragment. Give scheme, host, port and path only: clients' own headers and queries are passed on.`,
    );
  }
  return url;
}
