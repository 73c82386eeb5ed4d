/** `http://host:port` at the start of a request target in absolute form (RFC 9112 §3.2.2); group 1 is host and port. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** Whom a request target in absolute form names; undefined for every other form. */
export function authorityOf(requestTarget: string): string | undefined {
  return ABSOLUTE.exec(requestTarget)?.[1];
}

/**
 * Path and query of a request target. Of the absolute form only the path counts: where a request goes is for the
 * configuration to say, never for the client.
 */
export function splitTarget(requestTarget: string): [path: string, query: string] {
  const origin = requestTarget.replace(ABSOLUTE, '');
  const queryAt = origin.indexOf('?');
  const path = queryAt === -1 ? origin : origin.slice(0, queryAt);
  return [path || '/', queryAt === -1 ? '' : origin.slice(queryAt)];
}
