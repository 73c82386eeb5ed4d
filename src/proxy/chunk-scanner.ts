/**
 * How far a read went. `all`: to its end. `incomplete`: what is left may be the beginning of a plain chunk. `other`: what is
 * left begins with anything but a plain chunk: the last chunk, an extension, no chunk at all. `broken`: the chunk under way
 * does not end where it said it would.
 */
type ScanEnd = 'all' | 'incomplete' | 'other' | 'broken';

export interface ChunkScanner {
  /** Reads on; `bytes` begin where the last scan ended. */
  scan(bytes: Uint8Array): ScanEnd;
  /** Bytes of the last scan that belong to plain chunks, counted from its beginning. */
  passed(): number;
  /** Where data lies: start and end of each piece in turn. What the last scan found are the first {@link found}. */
  readonly ranges: readonly number[];
  /** Entries of {@link ranges} that the last scan wrote. */
  found(): number;
}

/** Larger chunks, from 4 GiB on, are not taken for plain. */
const MAX_SIZE_DIGITS = 8;

/** Entries of ranges that are kept from one scan to the next. */
const MOST_KEPT = 64;

const CR = 0x0d;
const LF = 0x0a;

/**
 * Follows a chunked body (RFC 9112 §7.1) without taking it apart. A plain chunk is `SIZE CRLF data CRLF` with a size of one
 * to eight hexadecimal digits, not zero; nothing else is understood here, so nothing can be understood in two ways.
 */
export function createChunkScanner(): ChunkScanner {
  const ranges: number[] = [];
  let found = 0;
  let passed = 0;
  /** Of the chunk under way: its data and the CRLF behind it. */
  let leftBytes = 0;

  /** Skips the data that is left, up to the end of `bytes`. */
  function skipData(bytes: Uint8Array): void {
    const dataBytes = Math.min(leftBytes - 2, bytes.length - passed);
    if (dataBytes <= 0) return;
    ranges[found] = passed;
    ranges[found + 1] = passed + dataBytes;
    found += 2;
    passed += dataBytes;
    leftBytes -= dataBytes;
  }

  /** Skips the CRLF behind the data; false when it is something else. */
  function skipTerminator(bytes: Uint8Array): boolean {
    while (leftBytes > 0 && passed < bytes.length) {
      if (bytes[passed] !== (leftBytes === 2 ? CR : LF)) return false;
      passed += 1;
      leftBytes -= 1;
    }
    return true;
  }

  /** Reads the line that begins a chunk; absent when a chunk was found. */
  function readSize(bytes: Uint8Array): 'incomplete' | 'other' | undefined {
    let at = passed;
    let size = 0;
    for (; at < bytes.length; at += 1) {
      const digit = hexValue(bytes[at]!);
      if (digit === undefined) break;
      if (at - passed === MAX_SIZE_DIGITS) return 'other';
      size = size * 16 + digit;
    }
    if (at === bytes.length) return 'incomplete';
    if (bytes[at] !== CR || size === 0) return 'other';
    if (at + 1 === bytes.length) return 'incomplete';
    if (bytes[at + 1] !== LF) return 'other';
    passed = at + 2;
    leftBytes = size + 2;
    return undefined;
  }

  return {
    scan(bytes) {
      // Not each time: to set an array's length costs more than to scan a chunk.
      if (found > MOST_KEPT) ranges.length = 0;
      found = 0;
      passed = 0;
      for (;;) {
        if (leftBytes > 2) skipData(bytes);
        if (!skipTerminator(bytes)) return 'broken';
        if (passed === bytes.length) return 'all';
        const stop = readSize(bytes);
        if (stop) return stop;
      }
    },
    passed: () => passed,
    ranges,
    found: () => found,
  };
}

function hexValue(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
