import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { errorCode } from '../lib/error-code.ts';

/** How an attempt to reach a server over HTTP ended. */
export type Reached =
  | { readonly kind: 'answered'; readonly status: number }
  /**
   * `why` goes on after "it" or an address: "refused the connection". `isThere`: somebody may be there all the same, since a
   * connection broke over this request, or there was no answer in time; another request may fare better.
   */
  | { readonly kind: 'unreachable'; readonly why: string; readonly isThere: boolean }
  /** A connection stands, and nothing was asked over it. */
  | { readonly kind: 'connected' };

export interface ReachOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Codes of a connection that stood. */
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'UND_ERR_SOCKET']);

const WHY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection: nothing listens there',
  ENOENT: 'is a socket that does not exist',
  ECONNRESET: 'closed the connection without an answer',
  UND_ERR_SOCKET: 'closed the connection without an answer',
  ENOTFOUND: 'has a host name that is not known',
  EAI_AGAIN: 'has a host name that could not be looked up',
  EHOSTUNREACH: 'is on a host that cannot be reached',
  ENETUNREACH: 'is on a network that cannot be reached',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS: its URL may have to begin with http://',
};

/**
 * Sends one request and takes any answer for a sign of life; its body is not read, redirects are not followed.
 *
 * @throws only when `signal` aborts.
 */
export async function reach(url: string, init: RequestInit, { timeoutMs, signal }: ReachOptions): Promise<Reached> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const { protocol, pathname } = new URL(url);
  if (protocol === 'unix:') return connectTo(connect(decodeURIComponent(pathname)), deadline, signal);
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.any([signal, deadline]) });
    await response.body?.cancel();
    return { kind: 'answered', status: response.status };
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) return unreachable(`did not answer within ${timeoutMs / 1000} s`, true);
    const cause = error instanceof Error ? error.cause : undefined;
    // Node's `fetch` leaves some ports out (the Fetch standard's port blocking); the proxy does not.
    if (cause instanceof Error && cause.message === 'bad port') {
      const { hostname, port } = new URL(url);
      return connectTo(connect(Number(port), hostname.replace(/^\[|\]$/g, '')), deadline, signal);
    }
    const code = codeOf(cause);
    return unreachable(explain(code), BROKEN.has(code));
  }
}

async function connectTo(socket: Socket, deadline: AbortSignal, signal: AbortSignal): Promise<Reached> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, deadline]) });
    return { kind: 'connected' };
  } catch (error) {
    signal.throwIfAborted();
    return unreachable(deadline.aborted ? 'did not answer in time' : explain(codeOf(error)), deadline.aborted);
  } finally {
    socket.destroy();
  }
}

function unreachable(why: string, isThere = false): Reached {
  return { kind: 'unreachable', why, isThere };
}

/** The first code in what `fetch` gives as its cause; a host with several addresses fails with one error for each. */
function codeOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.errors.length > 0) return codeOf(cause.errors[0]);
  if (cause instanceof Error && cause.name === 'HTTPParserError') return 'HPE_INVALID';
  return errorCode(cause) ?? '';
}

function explain(code: string): string {
  const known = WHY[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return 'answered with something other than HTTP';
  if (/CERT|TLS|SSL|SELF_SIGNED/.test(code)) return `has a TLS fault (${code})`;
  return code === '' ? 'could not be reached' : `could not be reached (${code})`;
}
