/**
 * How far a read went. `all`: to its end. `incomplete`: what is left may be the beginning of a plain chunk. `other`: what is
 * left begins with anything but a plain chunk: the last chunk, an extension, no chunk at all. `broken`: the chunk under way
 * does not end where it said it would.
 */
type ScanEnd = 'all' | 'incomplete' | 'other' | 'broken';

/** What a scan found. It is the same object each time, and of all scanners: to be looked at before anything is scanned again. */
interface Scanned {
  readonly end: ScanEnd;
  /** Bytes that belong to plain chunks, counted from the beginning. */
  readonly passed: number;
  /** Where data lies: start and end of each piece in turn, in the first {@link Scanned.found} entries. */
  readonly ranges: readonly number[];
  /** Entries of {@link Scanned.ranges} that count. */
  readonly found: number;
}

/** Larger chunks, from 4 GiB on, are not taken for plain. */
const MAX_SIZE_DIGITS = 8;

const CR = 0x0d;
const LF = 0x0a;

// One for all, which every stream would hold its own of otherwise. As long as what the pieces of a read need, one block at most.
const scanned: { -readonly [Member in keyof Scanned]: Scanned[Member] } & { ranges: number[] } = {
  end: 'all',
  passed: 0,
  ranges: [],
  found: 0,
};

/**
 * Follows a chunked body (RFC 9112 §7.1) without taking it apart. A plain chunk is `SIZE CRLF data CRLF` with a size of one
 * to eight hexadecimal digits, not zero; nothing else is understood here, so nothing can be understood in two ways.
 */
export class ChunkScanner {
  /** Of the chunk under way: its data and the CRLF behind it. */
  #leftBytes = 0;

  /** Reads on; `bytes` begin where the last scan ended. */
  scan(bytes: Uint8Array): Scanned {
    scanned.found = 0;
    scanned.passed = 0;
    scanned.end = this.#scanChunks(bytes);
    return scanned;
  }

  #scanChunks(bytes: Uint8Array): ScanEnd {
    for (;;) {
      if (this.#leftBytes > 2) this.#skipData(bytes);
      if (!this.#skipTerminator(bytes)) return 'broken';
      if (scanned.passed === bytes.length) return 'all';
      const stop = this.#readSize(bytes);
      if (stop) return stop;
    }
  }

  /** Skips the data that is left, up to the end of `bytes`. */
  #skipData(bytes: Uint8Array): void {
    const { passed, found, ranges } = scanned;
    const dataBytes = Math.min(this.#leftBytes - 2, bytes.length - passed);
    if (dataBytes <= 0) return;
    ranges[found] = passed;
    ranges[found + 1] = passed + dataBytes;
    scanned.found = found + 2;
    scanned.passed = passed + dataBytes;
    this.#leftBytes -= dataBytes;
  }

  /** Skips the CRLF behind the data; false when it is something else. */
  #skipTerminator(bytes: Uint8Array): boolean {
    while (this.#leftBytes > 0 && scanned.passed < bytes.length) {
      if (bytes[scanned.passed] !== (this.#leftBytes === 2 ? CR : LF)) return false;
      scanned.passed += 1;
      this.#leftBytes -= 1;
    }
    return true;
  }

  /** Reads the line that begins a chunk; absent when a chunk was found. */
  #readSize(bytes: Uint8Array): 'incomplete' | 'other' | undefined {
    const { passed } = scanned;
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
    scanned.passed = at + 2;
    this.#leftBytes = size + 2;
    return undefined;
  }
}

function hexValue(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
