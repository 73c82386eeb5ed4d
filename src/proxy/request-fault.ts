import type { IncomingMessage } from 'node:http';
import type { Fault } from './refusals.ts';
import { authorityOf } from './target.ts';

/** `uri-host [ ":" port ]` (RFC 9110 §7.2): no space, slash, quote, backslash or user information. */
const HOST = /^[A-Za-z0-9\-._~%!$&'()*+,;=:[\]]*$/;

/**
 * Finds what a later reader of the same bytes could understand in another way than the sidecar did. Such a request is no
 * client's honest work, and forwarded it would let its sender choose what the agent, or a proxy in between, takes it for.
 */
export function faultOf(request: IncomingMessage): Fault | undefined {
  return faultOfVersion(request) ?? faultOfTarget(request) ?? faultOfHost(request) ?? faultOfFraming(request);
}

function faultOfVersion({ httpVersionMajor }: IncomingMessage): Fault | undefined {
  if (httpVersionMajor === 1) return undefined;
  return { code: 'version_unsupported', message: 'This version of HTTP is not spoken here. Use HTTP/1.1.' };
}

/** Origin form, absolute form of http or https, and `*` of OPTIONS (RFC 9112 §3.2). */
function faultOfTarget({ method, url = '' }: IncomingMessage): Fault | undefined {
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return undefined;
  const authority = authorityOf(url);
  if (authority !== undefined && authority !== '' && HOST.test(authority)) return undefined;
  return bad(
    'The request target must be a path, or an http or https URL with a host and without user name or password.',
  );
}

/** RFC 9112 §3.2: exactly one, with HTTP/1.0 at most one. */
function faultOfHost({ rawHeaders, headers: { host }, httpVersionMinor }: IncomingMessage): Fault | undefined {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  if (count > 1 || (count === 0 && httpVersionMinor > 0)) return bad('A request must have one Host field.');
  return host === undefined || HOST.test(host)
    ? undefined
    : bad('The Host field must be a host name and may have a port.');
}

/** RFC 9112 §6.1. Codings other than `chunked` are allowed there; agents that do not know one would lose where the body ends. */
function faultOfFraming({ headers, httpVersionMinor }: IncomingMessage): Fault | undefined {
  const coding = headers['transfer-encoding']?.toLowerCase();
  if (coding === undefined) return undefined;
  if (httpVersionMinor === 0) return bad('HTTP/1.0 has no Transfer-Encoding. Use Content-Length, or HTTP/1.1.');
  if (coding === 'chunked') return undefined;
  if (coding.split(',').at(-1)?.trim() !== 'chunked') return bad('The last Transfer-Encoding must be chunked.');
  return { code: 'coding_unsupported', message: 'The only Transfer-Encoding that is forwarded is chunked.' };
}

function bad(message: string): Fault {
  return { code: 'bad_request', message };
}
