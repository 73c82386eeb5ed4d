import { createServer, type Server } from 'node:http';
import { ASK_AFTER_SILENCE } from './agent-socket.ts';
import type { ProxyOptions } from './options.ts';
import { isUpgrade } from './upgrade.ts';

/** Longer than load balancers keep an idle connection (60 s): the side that closes first causes no lost request. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

const HEAD_TIMEOUT_MS = 60_000;

/** How often Node looks for heads that are late; its own default. */
const HEAD_CHECK_MS = 30_000;

/** Node's server with what it would decide by itself decided here: what ends a request, and what does not. */
export function createHttpServer({
  headTimeoutMs = HEAD_TIMEOUT_MS,
  maxHeaderBytes = MAX_HEADER_BYTES,
  maxConnections = Infinity,
  halfClose = 'abort',
}: Pick<ProxyOptions, 'headTimeoutMs' | 'maxHeaderBytes' | 'maxConnections' | 'halfClose'>): Server {
  const server = createServer({
    noDelay: true,
    ...ASK_AFTER_SILENCE,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    headersTimeout: headTimeoutMs,
    connectionsCheckingInterval: Math.min(HEAD_CHECK_MS, headTimeoutMs),
    maxHeaderSize: maxHeaderBytes,
    // Said, since an option of the process could turn it on for all servers.
    insecureHTTPParser: false,
    // Looked at with the rest of what makes a request doubtful.
    requireHostHeader: false,
    // A slow upload and a silent stream are both legitimate for as long as they take.
    requestTimeout: 0,
    // Node before 22.21 does not ask: there, the handler of upgrades gives back what is none.
    shouldUpgradeCallback: isUpgrade,
  });
  server.timeout = 0;
  // Without a name in Node's documentation, and what it has for this.
  Object.assign(server, { httpAllowHalfOpen: halfClose === 'answer' });
  server.maxRequestsPerSocket = 0;
  // Node drops fields past a count without a word; the size of the head is bounded all the same.
  server.maxHeadersCount = 0;
  server.maxConnections = maxConnections;
  return server;
}

/** Of a head, a client's or an agent's. */
export const MAX_HEADER_BYTES = 16 * 1024;
