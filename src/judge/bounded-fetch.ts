import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

/**
 * More than any judge has to say, however much it thinks aloud, and little enough that reading it is not felt by the
 * streams.
 */
export const MAX_ANSWER_BYTES = 1024 * 1024;

/** As far as an error is read: what it is stands at its beginning. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Far more than anyone sends before an answer. */
const MAX_INTERIM_ANSWERS = 100;

/** A success that is larger than {@link MAX_ANSWER_BYTES}. The rest of it was not read, and its connection is closed. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Statuses of which a Response takes no body (Fetch standard, "null body status"). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Fetches an answer that is read before it is handed over, within a bound, so that one without an end costs no more than
 * that. An error is handed over with as much as came of it, up to its own bound: its status says most, and a validator
 * that quotes a long conversation is not ill. No redirect is followed: a conversation goes to the endpoint that was
 * configured and to no other that it may name.
 *
 * By `node:http` and not by Node's own fetch, which registers what it makes to be told of its end: that keeps all of a
 * question alive until the next full collection of garbage, and each lesser one, which stops the streams, copies it.
 *
 * @throws {AnswerTooLarge} for a success that is declared, or turns out, to be larger than the bound.
 */
export const boundedFetch: typeof fetch = async (input, init = {}) => {
  if (input instanceof Request) throw new TypeError('a judge request is given by its address');
  const url = new URL(input);
  const { body, method = 'GET', headers, signal } = init;
  if (body && typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('the body of a judge request must be text or bytes');
  }
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method,
    // Whoever does not say that it decodes nothing may be sent anything.
    headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
  });
  const abort = (): void => void request.destroy(abortError(signal?.reason));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  let interimAnswers = 0;
  request.on('information', () => {
    interimAnswers += 1;
    if (interimAnswers > MAX_INTERIM_ANSWERS) request.destroy(new Error('interim answers without end'));
  });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // Behind the head it is reading the response that fails, and this comes to nothing. A 101 closes without an error.
      const closed = (): void => reject(new Error('the connection was closed without an answer'));
      request.on('response', resolve).on('error', reject).on('close', closed).end(body);
    });
    const status = response.statusCode ?? 0;
    const pieces = await readBody(response, status >= 200 && status < 300);
    return new Response(BODILESS.has(status) ? null : Buffer.concat(pieces), {
      status,
      headers: headersOf(response),
    });
  } finally {
    signal?.removeEventListener('abort', abort);
  }
};

/** As Node calls it, whatever the reason was: by its name it is told from a failure of the endpoint. */
const abortError = (cause: unknown): Error =>
  new DOMException('the request was given up', { name: 'AbortError', cause });

async function readBody(response: IncomingMessage, isSuccess: boolean): Promise<readonly Buffer[]> {
  const most = isSuccess ? MAX_ANSWER_BYTES : MAX_ERROR_BYTES;
  const declared = Number(response.headers['content-length']);
  if (isSuccess && declared > most) {
    response.destroy();
    throw new AnswerTooLarge(`an answer of ${declared} bytes`);
  }
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    // To leave the loop closes the connection.
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length > most) break;
    }
  } catch (problem) {
    if (isSuccess) throw problem;
  }
  if (isSuccess && length > most) throw new AnswerTooLarge(`an answer of more than ${most} bytes`);
  return pieces;
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index]!, rawHeaders[index + 1]!);
  }
  return headers;
}
