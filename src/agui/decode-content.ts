import type { Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { giveWay } from '../lib/turn.ts';
import type { Arrival } from './capture.ts';

/** `stopped`: the taker wanted no more. `undecodable`: an unknown coding, or bytes that are not of it. */
export type ContentEnd = 'complete' | 'stopped' | 'undecodable';

/** Bytes handled in one turn of the event loop: few, since the smallest events are of seven, and each costs its work. */
export const SLICE_BYTES = 4 * 1024;

/** Small slices handled in one turn of the event loop. */
const SLICES_PER_TURN = 64;

/** Takes the next slice, in its own time; false when it wants no more. */
type Take = (slice: Arrival) => boolean | Promise<boolean>;

/**
 * Undoes a Content-Encoding and hands the bytes to `take`, with the arrival of the slice they came from, until it says
 * that it wants no more. A body that breaks off is decoded as far as it goes. Other work gets its turn in between.
 *
 * @param encoding value of the Content-Encoding header.
 */
export async function decodeContent(encoding: string, slices: Iterable<Arrival>, take: Take): Promise<ContentEnd> {
  const codings = encoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
    // Listed in the order they were applied.
    .toReversed();

  let source = slices;
  let isCut = false;
  for (const [index, coding] of codings.entries()) {
    const isLast = index === codings.length - 1;
    const decoded: Arrival[] = [];
    const hold = (slice: Arrival) => decoded.push(slice) <= MAX_INNER_SLICES;
    const end = await decodeCoding(coding, source, isLast ? take : hold);
    if (end === 'undecodable') return end;
    isCut ||= end === 'stopped';
    if (isLast) return isCut ? 'stopped' : end;
    source = decoded;
  }
  return passThrough(source, take);
}

/** Bound of what is held between two codings on one body, in slices. */
const MAX_INNER_SLICES = 4096;

async function passThrough(slices: Iterable<Arrival>, take: Take): Promise<ContentEnd> {
  let count = 0;
  let bytes = 0;
  for (const slice of slices) {
    const taken = take(slice);
    if (!(typeof taken === 'boolean' ? taken : await taken)) return 'stopped';
    count += 1;
    bytes += slice.bytes.length;
    if (count >= SLICES_PER_TURN || bytes >= SLICE_BYTES) {
      count = 0;
      bytes = 0;
      const turn = giveWay();
      if (turn) await turn;
    }
  }
  return 'complete';
}

async function decodeCoding(coding: string, slices: Iterable<Arrival>, take: Take): Promise<ContentEnd> {
  const source = slices[Symbol.iterator]();
  const nextFilled = (): Arrival | undefined => {
    let next = source.next();
    while (!next.done && next.value.bytes.length === 0) next = source.next();
    return next.done ? undefined : next.value;
  };
  const head = nextFilled();
  if (!head) return 'complete';
  const decoder = createDecoder(coding, head.bytes);
  if (!decoder) return 'undecodable';

  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  decoder.on('close', close);
  // The loop below throws what failed; behind its end nobody asks any more.
  decoder.on('error', () => {});
  let { at } = head;
  /** Gives the decoder one slice at a time, and the next when all that came of it is taken: so the arrivals are right. */
  const feed = async (): Promise<void> => {
    for (let slice: Arrival | undefined = head; slice && !decoder.destroyed; slice = nextFilled()) {
      ({ at } = slice);
      await Promise.race([closed, written(decoder, slice.bytes)]);
      do await nextTurn();
      while (decoder.readableLength > 0 && !decoder.destroyed);
    }
    decoder.end();
  };
  const feeding = feed();
  try {
    for await (const bytes of decoder as AsyncIterable<Buffer>) {
      const arrival = at === undefined ? {} : { at };
      for (const piece of piecesOf(bytes)) {
        if (!(await take({ bytes: piece, ...arrival }))) return 'stopped';
        await giveWay();
      }
    }
    return 'complete';
  } catch (error) {
    if (decoder.errored === error) return 'undecodable';
    throw error;
  } finally {
    await feeding;
  }
}

/** The bytes in pieces of {@link SLICE_BYTES}. */
export function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) yield bytes.subarray(start, start + SLICE_BYTES);
}

/** Resolves when the decoder has taken the bytes and given out what they hold; failing shows as `close`. */
const written = (decoder: Transform, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    decoder.write(bytes, () => resolve());
  });

function createDecoder(coding: string, head: Uint8Array): Transform | undefined {
  // Nothing is decoded before what was decoded is taken: not much is held, and no error overtakes good bytes.
  const bounds = { readableHighWaterMark: 1 };
  // A body that breaks off is no error: what came is flushed.
  const zlib = { ...bounds, finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(zlib);
    case 'deflate':
      // Meant to be zlib's format; some servers send the bare one.
      return isZlibHeader(head) ? createInflate(zlib) : createInflateRaw(zlib);
    case 'br':
      return createBrotliDecompress({ ...bounds, finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ ...bounds, finishFlush: constants.ZSTD_e_flush });
    default:
      return undefined;
  }
}

function isZlibHeader(head: Uint8Array): boolean {
  const [method = 0, flags] = head;
  return (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0);
}
