import { createServer, type Server } from 'node:http';
import { textOf } from '../input.ts';
import { endToEnd } from './fields.ts';

/** A request as it came to the agent. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  /** Those meant for the agent, names and values in turn, without what a proxy is to say for itself. */
  readonly fields: readonly string[];
  readonly trailers: readonly string[];
  readonly body: string;
}

export interface EchoAgent {
  readonly server: Server;
  /** Requests that came whole since it was asked last. */
  heard(): readonly Heard[];
  /** Connections since it was asked last on which something else than HTTP came. */
  offended(): readonly string[];
}

/** What a proxy may say for itself, or in the client's place. */
const OF_THE_PROXY = new Set(['host', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'via']);

/** An agent that answers each request and remembers it. */
export function createEchoAgent(): EchoAgent {
  const heard: Heard[] = [];
  const offended: string[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('error', () => {});
    request.on('end', () => {
      const body = textOf(Buffer.concat(pieces));
      const { method = '', url: path = '', rawHeaders, rawTrailers } = request;
      const fields = endToEnd(rawHeaders, OF_THE_PROXY);
      heard.push({ method, path, fields, trailers: endToEnd(rawTrailers), body });
      response.end('heard');
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Who leaves in the middle of a request offends nobody.
    if (error.code?.startsWith('HPE_') && error.code !== 'HPE_INVALID_EOF_STATE') offended.push(error.code);
    socket.destroy();
  });
  const taken = <Item>(items: Item[]): readonly Item[] => items.splice(0);
  return { server, heard: () => taken(heard), offended: () => taken(offended) };
}
