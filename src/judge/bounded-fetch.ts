/**
 * More than any judge has to say, however much it thinks aloud, and little enough that reading it is not felt by the
 * streams.
 */
export const MAX_ANSWER_BYTES = 1024 * 1024;

/** As far as an error is read: what it is stands at its beginning. */
const MAX_ERROR_BYTES = 64 * 1024;

/** A success that is larger than {@link MAX_ANSWER_BYTES}. The rest of it was not read, and its connection is closed. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/**
 * Fetches an answer that is read before it is handed over, within a bound, so that one without an end costs no more than
 * that. An error is handed over with as much as came of it, up to its own bound: its status says most, and a validator
 * that quotes a long conversation is not ill.
 *
 * @throws {AnswerTooLarge} for a success that is declared, or turns out, to be larger than the bound.
 */
export const boundedFetch: typeof fetch = async (input, init) => {
  // A conversation goes to the endpoint that was configured and to no other that it may name.
  const response = await fetch(input, { ...init, redirect: 'manual' });
  const { body, ok, headers } = response;
  if (body === null) return response;
  if (ok && Number(headers.get('content-length')) > MAX_ANSWER_BYTES) {
    await body.cancel();
    throw new AnswerTooLarge(`an answer of ${headers.get('content-length')} bytes`);
  }
  const { pieces, problem } = await readUpTo(body, ok ? MAX_ANSWER_BYTES : MAX_ERROR_BYTES);
  if (ok && problem !== undefined) throw problem;
  return new Response(Buffer.concat(pieces), response);
};

interface Read {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** Why these are not all. */
  readonly problem?: unknown;
}

/** Reads until `most` bytes were passed; a body that has more is cancelled, which closes its connection. */
async function readUpTo(body: ReadableStream<Uint8Array<ArrayBuffer>>, most: number): Promise<Read> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // A reader and no stream around the stream, which is more work for each piece.
  const reader = body.getReader();
  try {
    while (length <= most) {
      const { done, value } = await reader.read();
      if (done) return { pieces };
      pieces.push(value);
      length += value.byteLength;
    }
    await reader.cancel();
    return { pieces, problem: new AnswerTooLarge(`an answer of more than ${most} bytes`) };
  } catch (problem) {
    return { pieces, problem };
  }
}
