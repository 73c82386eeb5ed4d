import type { IncomingMessage, OutgoingMessage } from 'node:http';
import { forwardedFields, type ForwardedHeaders, hostOf, isRestated } from './forwarded.ts';

/** Names and values in turn, as Node's `rawHeaders`: case, order and repetitions are those of the sender. */
export type RawHeaders = readonly string[];

/** Names that W3C Trace Context and Baggage give to what an observation may replace. */
const TRACE_NAMES = ['traceparent', 'tracestate', 'baggage'] as const;

/** Fields for one connection only (RFC 9110 §7.6.1), besides `proxy-*` and those that `Connection` names. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
]);

/**
 * Fields that tell where a body ends or whom it is for. A sender must not name them in `Connection`; dropping them at
 * its word would let a client smuggle a second request inside the first.
 */
const NEVER_CONNECTION_OPTIONS: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding']);

/** Fields that must not come in trailers: they would change how the message is read (RFC 9110 §6.5.1). */
const NEVER_TRAILERS: ReadonlySet<string> = new Set([
  ...NEVER_CONNECTION_OPTIONS,
  'content-encoding',
  'content-type',
  'authorization',
  'set-cookie',
]);

/** What the agent is told of who asked for what. */
export interface Provenance {
  /** Whose name `Host` has: the agent's own, or the one that the client asked for. Where the request goes is not its say. */
  readonly hostHeader: 'agent' | 'client';
  readonly forwardedHeaders: ForwardedHeaders;
}

/** The head to send to the agent. `authority`: the agent's own; `traceHeaders` replace the client's trace context. */
export function requestHeaders(
  request: IncomingMessage,
  authority: string,
  traceHeaders: Readonly<Record<string, string>> | undefined,
  provenance: Provenance,
): string[] {
  const { headers } = request;
  const host = (provenance.hostHeader === 'client' && hostOf(request)) || authority;
  const options = connectionOptions(headers.connection);
  const replaced = traceHeaders
    ? new Set([...TRACE_NAMES, ...Object.keys(traceHeaders).map((name) => name.toLowerCase())])
    : NO_NAMES;
  const forwarded: string[] = [];
  let hostWritten = false;
  for (const [name, value, lower] of eachField(request.rawHeaders)) {
    if (lower === 'host') {
      if (!hostWritten) forwarded.push(name, host);
      hostWritten = true;
    } else if (
      !isForOneHop(lower, options) &&
      !isRestated(lower, provenance.forwardedHeaders) &&
      !replaced.has(lower)
    ) {
      forwarded.push(name, value);
    }
  }
  if (!hostWritten) forwarded.push('Host', host);
  // A sender of TE must name it in Connection too (RFC 9110 §10.1.4).
  if (acceptsTrailers(request)) forwarded.push('TE', 'trailers', 'Connection', 'TE, keep-alive');
  forwarded.push(...forwardedFields(request, clientAddress(request), provenance.forwardedHeaders));
  for (const [name, value] of Object.entries(traceHeaders ?? {})) forwarded.push(name, value);
  return forwarded;
}

/**
 * The head to send to the client. A chunked body stays chunked and a counted one counted; to an HTTP/1.0 client, which
 * knows no chunks, the end of the connection is the end of the body.
 */
export function responseHeaders(incoming: IncomingMessage, request: IncomingMessage): string[] {
  const options = connectionOptions(incoming.headers.connection);
  const chunked = incoming.headers['transfer-encoding'] !== undefined && knowsChunks(request) && hasBody(incoming);
  const forwarded: string[] = [];
  for (const [name, value, lower] of eachField(incoming.rawHeaders)) {
    const keep =
      lower === 'transfer-encoding'
        ? chunked
        : lower === 'trailer'
          ? chunked && acceptsTrailers(request)
          : !isForOneHop(lower, options);
    if (keep) forwarded.push(name, value);
  }
  return forwarded;
}

/** The head that both sides of an accepted upgrade receive (RFC 9110 §7.8): the one case where `Upgrade` passes. */
export function upgradeHeaders(forwarded: readonly string[], protocol: string): string[] {
  return [...forwarded, 'Connection', 'Upgrade', 'Upgrade', protocol];
}

/** A head as it is on the wire, to be encoded as Latin-1. */
export function headText(startLine: string, fields: RawHeaders): string {
  const lines = [startLine];
  for (let index = 0; index + 1 < fields.length; index += 2) lines.push(`${fields[index]}: ${fields[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * Sends a head at once, before there is a body. Not by `flushHeaders`: it encodes a head as UTF-8 and so changes the
 * bytes of every field beyond ASCII. A message that has no body sends its head when it is ended.
 */
export function flushHead(message: OutgoingMessage): void {
  message.write('', 'latin1');
}

/** Trailers that may be passed on, as pairs. */
export function trailerFields(rawTrailers: RawHeaders): [string, string][] {
  const forwarded: [string, string][] = [];
  for (const [name, value, lower] of eachField(rawTrailers)) {
    if (!isForOneHop(lower, NO_NAMES) && !NEVER_TRAILERS.has(lower)) forwarded.push([name, value]);
  }
  return forwarded;
}

/** True when the client said that it reads trailers (RFC 9110 §10.1.4). */
export function acceptsTrailers({ headers: { te } }: IncomingMessage): boolean {
  return typeof te === 'string' && /(?:^|[\s,])trailers(?:$|[\s,;])/i.test(te);
}

/** True when the request carries a body, be it empty: it says how long it is, or that it is chunked. */
export function declaresBody(request: IncomingMessage): boolean {
  return request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
}

/** The client's address; an IPv4 address that a dual-stack socket wrapped is unwrapped. */
export function clientAddress(request: IncomingMessage): string | undefined {
  return request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
}

export function knowsChunks(request: IncomingMessage): boolean {
  return request.httpVersionMajor > 1 || request.httpVersionMinor >= 1;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** What nearly every `Connection` says. A set made for each message is work for the garbage collector. */
const COMMON_OPTIONS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  ['keep-alive', 'close'].map((option) => [option, new Set([option])]),
);

function connectionOptions(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined) return NO_NAMES;
  const common = COMMON_OPTIONS.get(connection.toLowerCase());
  if (common) return common;
  const names = connection.split(',').map((option) => option.trim().toLowerCase());
  return new Set(names.filter((name) => !NEVER_CONNECTION_OPTIONS.has(name)));
}

function isForOneHop(lower: string, options: ReadonlySet<string>): boolean {
  return HOP_BY_HOP.has(lower) || lower.startsWith('proxy-') || options.has(lower);
}

function hasBody(incoming: IncomingMessage): boolean {
  return incoming.statusCode !== 204 && incoming.statusCode !== 304;
}

function* eachField(raw: RawHeaders): Generator<[name: string, value: string, lower: string]> {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]!;
    yield [name, raw[index + 1]!, name.toLowerCase()];
  }
}
