import { type IncomingMessage, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { textOf } from '../input.ts';
import { endToEnd } from './fields.ts';

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly fields: readonly string[];
  readonly body?: Buffer;
}

/** What a client makes of what comes back. `broken`: an error, or an answer that was not whole. */
export type Outcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly phrase: string;
      /** Those meant for the client, names and values in turn. */
      readonly fields: readonly string[];
      readonly body: string;
      readonly trailers: readonly string[];
      /** How the answer came over this connection. */
      readonly transferEncoding: string;
    }
  | { readonly kind: 'broken'; readonly body: string };

/** Far longer than any answer takes here. */
export const HANGS_AFTER_MS = 10_000;

/**
 * Asks over a connection of its own.
 *
 * @throws {TypeError} when the request cannot be sent at all.
 * @throws {Error} when nothing comes back, not even an error.
 */
export async function ask(port: number, sent: SentRequest): Promise<Outcome> {
  const guard = new AbortController();
  const hangs = delay(HANGS_AFTER_MS, undefined, { signal: guard.signal }).then(() => {
    throw new Error(`no answer came and no error: ${sent.method} ${sent.path}`);
  });
  try {
    return await Promise.race([send(port, sent), hangs]);
  } finally {
    hangs.catch(() => {});
    guard.abort();
  }
}

function send(port: number, { method, path, fields, body }: SentRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, method, path, agent: false, headers: fields };
    let isAnswered = false;
    const request = httpRequest(options, (response) => {
      isAnswered = true;
      void read(response).then(resolve);
    });
    // Behind the beginning of an answer, what became of that is what counts.
    request.on('error', () => {});
    request.on('close', () => {
      if (!isAnswered) resolve({ kind: 'broken', body: '' });
    });
    request.on('upgrade', (_response, socket) => socket.destroy());
    request.end(body);
  });
}

async function read(response: IncomingMessage): Promise<Outcome> {
  const pieces: Buffer[] = [];
  response.on('data', (piece: Buffer) => pieces.push(piece));
  response.on('error', () => {});
  await new Promise((resolve) => {
    response.on('close', resolve);
  });
  const body = textOf(Buffer.concat(pieces));
  if (!response.complete) return { kind: 'broken', body };
  return {
    kind: 'answer',
    status: response.statusCode ?? 0,
    phrase: response.statusMessage ?? '',
    fields: endToEnd(response.rawHeaders),
    body,
    trailers: endToEnd(response.rawTrailers),
    transferEncoding: response.headers['transfer-encoding'] ?? '',
  };
}
