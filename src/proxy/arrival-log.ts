import type { Arrival } from '../agui/capture.ts';
import type { MemoryGrant } from './memory-grant.ts';
import { nextBlock, NO_BYTES } from './next-block.ts';
import { BLOCK_BYTES, giveBlock } from './spare-blocks.ts';

/** In front of what arrived: how many bytes it is, and when it came, in ms; 32 bits each, the lowest byte first. */
const HEADER_BYTES = 8;

/**
 * Copied bytes of one body, each arrival with its time in front of it, laid end to end into blocks. Every block is asked of a
 * {@link MemoryGrant} first; those of 64 KiB are used again by others.
 *
 * Bytes are copied because a reference to a small chunk pins the whole read buffer (64 KiB) that it was cut from. The times
 * lie among them because a log is added to after many others have been: what is not in the caches of the CPU costs more than
 * the copy, so all that one arrival touches should lie together.
 */
export class ArrivalLog {
  // In the order in which an arrival touches them.
  #filling: Buffer = NO_BYTES;
  /** Of the block being filled. */
  #filled = 0;
  /** Time of the last record; -1 when the next bytes need a record of their own. */
  #lastMs = -1;
  /** Where the last record begins. */
  #lastAt = 0;
  readonly #memory: MemoryGrant;
  /** Those that are full. */
  #blocks: Buffer[] | undefined;
  #capacity = 0;

  constructor(memory: MemoryGrant) {
    this.#memory = memory;
  }

  /**
   * Copies what lies from `start` to `end` of `bytes`, at least one. Those that come in the same millisecond share a
   * record, as far as one block goes.
   *
   * @param ms time of the arrival, a whole number in [0, 2³²).
   * @returns false when memory for them was refused; then nothing of them was copied.
   */
  append(bytes: Buffer, start: number, end: number, ms: number): boolean {
    const room = this.#filling.length - this.#filled - (ms === this.#lastMs ? 0 : HEADER_BYTES);
    if (end - start > room) return this.#appendAcross(bytes, start, end, ms, Math.max(room, 0));
    this.#write(bytes, start, end, ms);
    return true;
  }

  #write(bytes: Buffer, start: number, end: number, ms: number): void {
    const filling = this.#filling;
    if (ms !== this.#lastMs) {
      this.#lastMs = ms;
      this.#lastAt = this.#filled;
      writeUint32(filling, this.#filled + 4, ms);
      this.#filled += HEADER_BYTES;
    }
    // Not by `set`, which would need a view made for it.
    bytes.copy(filling, this.#filled, start, end);
    this.#filled += end - start;
    writeUint32(filling, this.#lastAt, this.#filled - this.#lastAt - HEADER_BYTES);
  }

  /** `room`: bytes that still go into the block being filled. */
  #appendAcross(bytes: Buffer, start: number, end: number, ms: number, room: number): boolean {
    const blocks = this.#reserve(end - start - room);
    if (!blocks) return false;
    if (room > 0) this.#write(bytes, start, start + room, ms);
    let from = start + room;
    for (const block of blocks) {
      if (this.#filling.length > 0) (this.#blocks ??= []).push(this.#filling);
      this.#filling = block;
      this.#filled = 0;
      this.#lastMs = -1;
      const to = Math.min(end, from + block.length - HEADER_BYTES);
      this.#write(bytes, from, to, ms);
      from = to;
    }
    return true;
  }

  /** Blocks for so many bytes of one record, each with a header of its own; absent when there is no memory for all of them. */
  #reserve(bytes: number): Buffer[] | undefined {
    const before = this.#capacity;
    const blocks: Buffer[] = [];
    for (let left = bytes; left > 0;) {
      const block = nextBlock(this.#memory, this.#capacity, Math.min(HEADER_BYTES + left, BLOCK_BYTES));
      if (!block) {
        for (const given of blocks) giveBlock(given);
        this.#memory.release(this.#capacity - before);
        this.#capacity = before;
        return undefined;
      }
      blocks.push(block);
      this.#capacity += block.length;
      left -= block.length - HEADER_BYTES;
    }
    return blocks;
  }

  /**
   * Everything in order, lent: a reading under way when the log is cleared may see the bytes of others, and one begun
   * afterwards sees nothing.
   *
   * @param epochMs what the times count from.
   */
  *arrivals(epochMs: number): Generator<Arrival> {
    for (const block of this.#blocks ?? []) yield* recordsOf(block, block.length, epochMs);
    yield* recordsOf(this.#filling, this.#filled, epochMs);
  }

  /** Gives the memory back: nobody may look at the arrivals any more. */
  clear(): void {
    this.#memory.release(this.#capacity);
    for (const block of this.#blocks ?? []) giveBlock(block);
    giveBlock(this.#filling);
    this.#blocks = undefined;
    this.#filling = NO_BYTES;
    this.#filled = 0;
    this.#lastMs = -1;
    this.#capacity = 0;
  }
}

/** As `Buffer.writeUInt32LE` does, whose checks and calls cost more than these four bytes. */
function writeUint32(block: Buffer, at: number, value: number): void {
  block[at] = value;
  block[at + 1] = value >>> 8;
  block[at + 2] = value >>> 16;
  block[at + 3] = value >>> 24;
}

/** Where no more than a header has room, a block has come to its end: no record is empty. */
function* recordsOf(block: Buffer, end: number, epochMs: number): Generator<Arrival> {
  for (let at = 0; at + HEADER_BYTES < end;) {
    const bytesAt = at + HEADER_BYTES;
    const nextAt = bytesAt + block.readUInt32LE(at);
    yield { bytes: block.subarray(bytesAt, nextAt), at: epochMs + block.readUInt32LE(at + 4) };
    at = nextAt;
  }
}
