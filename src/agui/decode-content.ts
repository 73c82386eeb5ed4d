import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** A piece of a body, and when it arrived. */
export interface Slice {
  readonly bytes: Uint8Array;
  /** Epoch milliseconds. */
  readonly at?: number;
}

/** `stopped`: the taker wanted no more. `undecodable`: an unknown coding, or bytes that are not of it. */
export type ContentEnd = 'complete' | 'stopped' | 'undecodable';

/** Bytes handled in one turn of the event loop. */
export const SLICE_BYTES = 32 * 1024;

/** Small slices handled in one turn of the event loop. */
const SLICES_PER_TURN = 64;

/**
 * Undoes a Content-Encoding and hands the bytes to `take`, with the arrival of the slice they came from, until it says
 * that it wants no more. A body that breaks off is decoded as far as it goes. Other work gets its turn in between.
 *
 * @param encoding value of the Content-Encoding header.
 */
export async function decodeContent(
  encoding: string,
  slices: Iterable<Slice>,
  take: (slice: Slice) => boolean,
): Promise<ContentEnd> {
  const codings = encoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
    // Listed in the order they were applied.
    .toReversed();

  let source = slices;
  for (const [index, coding] of codings.entries()) {
    const isLast = index === codings.length - 1;
    const decoded: Slice[] = [];
    const end = await decodeCoding(coding, source, isLast ? take : (slice) => decoded.push(slice) <= MAX_INNER_SLICES);
    if (isLast || end === 'undecodable') return end;
    source = decoded;
  }
  return passThrough(source, take);
}

/** Bound of what is held between two codings on one body, in slices of zlib's 16 KiB. */
const MAX_INNER_SLICES = 1024;

async function passThrough(slices: Iterable<Slice>, take: (slice: Slice) => boolean): Promise<ContentEnd> {
  let count = 0;
  let bytes = 0;
  for (const slice of slices) {
    if (!take(slice)) return 'stopped';
    count += 1;
    bytes += slice.bytes.length;
    if (count >= SLICES_PER_TURN || bytes >= SLICE_BYTES) {
      count = 0;
      bytes = 0;
      await nextTurn();
    }
  }
  return 'complete';
}

async function decodeCoding(
  coding: string,
  slices: Iterable<Slice>,
  take: (slice: Slice) => boolean,
): Promise<ContentEnd> {
  let end: ContentEnd | undefined;
  let decoder: Transform | undefined;
  let at: number | undefined;
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();

  for (const slice of slices) {
    if (slice.bytes.length === 0) continue;
    if (!decoder) {
      decoder = createDecoder(coding, slice.bytes);
      if (!decoder) return 'undecodable';
      decoder.on('data', (bytes: Buffer) => {
        if (end !== undefined) return;
        if (take(at === undefined ? { bytes } : { bytes, at })) return;
        end = 'stopped';
        decoder?.destroy();
      });
      decoder.on('error', () => {
        end ??= 'undecodable';
      });
      decoder.on('close', close);
    }
    at = slice.at;
    await Promise.race([closed, written(decoder, slice.bytes)]);
    if (end !== undefined || decoder.destroyed) break;
  }
  if (!decoder) return 'complete';
  decoder.end();
  await closed;
  return end ?? 'complete';
}

/** Resolves when the decoder has taken the bytes and given out what they hold; failing shows as `close`. */
const written = (decoder: Transform, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    decoder.write(bytes, () => resolve());
  });

function createDecoder(coding: string, head: Uint8Array): Transform | undefined {
  // A body that breaks off is no error: what came is flushed.
  const zlib = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(zlib);
    case 'deflate':
      // Meant to be zlib's format; some servers send the bare one.
      return isZlibHeader(head) ? createInflate(zlib) : createInflateRaw(zlib);
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ finishFlush: constants.ZSTD_e_flush });
    default:
      return undefined;
  }
}

function isZlibHeader(head: Uint8Array): boolean {
  const [method = 0, flags] = head;
  return (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0);
}
