import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { authorityOf } from './target.ts';

/**
 * What becomes of the fields that tell an agent how a request came. `append`: what the client says of the hops before it is
 * believed, and the client added to them; `replace`: none of it is believed, and the sidecar says what it saw; `pass`:
 * nothing is taken away and nothing added.
 */
export type ForwardedHeaders = 'append' | 'replace' | 'pass';

/** Said anew whatever the client said, so that naming them in `Connection` does not take them away. */
const RESTATED: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
]);

/** Whether a field of the client's, by its name in lower case, does not go to the agent as it is. */
export function isRestated(lower: string, mode: ForwardedHeaders): boolean {
  switch (mode) {
    case 'append':
      return RESTATED.has(lower);
    case 'replace': {
      if (!lower.startsWith('x') && !lower.startsWith('f')) return false;
      // To an agent behind CGI or WSGI, `X_Real_IP` and `X-Real-IP` are one name.
      const name = lower.replaceAll('_', '-');
      return name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip';
    }
    case 'pass':
      return false;
  }
}

/** What the agent is told in place of the fields that {@link isRestated} names: names and values in turn. */
export function forwardedFields(
  request: IncomingMessage,
  clientAddress: string | undefined,
  mode: ForwardedHeaders,
): string[] {
  if (mode === 'pass') return [];
  const believed = mode === 'append' ? request.headers : NOTHING;
  const clientHost = hostOf(request);
  const fields: string[] = [];
  const hops = append(believed['x-forwarded-for'], clientAddress);
  const host = append(believed['x-forwarded-host'], undefined) ?? clientHost;
  if (hops) fields.push('X-Forwarded-For', hops);
  if (host) fields.push('X-Forwarded-Host', host);
  fields.push('X-Forwarded-Proto', append(believed['x-forwarded-proto'], undefined) ?? 'http');
  // Not begun here. But where there is one, a list without its last hop would name the wrong one.
  const elements = believed.forwarded && append(believed.forwarded, forwardedElement(clientAddress, clientHost));
  if (elements) fields.push('Forwarded', elements);
  return fields;
}

const NOTHING: IncomingHttpHeaders = {};

/** The host that the client asked for. In absolute form the target says it, whatever `Host` says (RFC 9112 §3.2.2). */
export function hostOf({ url = '', headers }: IncomingMessage): string | undefined {
  return url.startsWith('/') ? headers.host : (authorityOf(url) ?? headers.host);
}

/** One hop as RFC 7239 §4 writes it: an IPv6 address in brackets, and quoted what is no token there. */
function forwardedElement(client: string | undefined, host: string | undefined): string {
  const node = client?.includes(':') ? `"[${client}]"` : (client ?? 'unknown');
  return `for=${node};${host ? `host="${host}";` : ''}proto=http`;
}

/** `list` with `last` at its end; undefined when that is empty. */
function append(list: string | readonly string[] | undefined, last: string | undefined): string | undefined {
  const listed = list?.toString();
  return listed && last ? `${listed}, ${last}` : listed || last || undefined;
}
