import { BLOCK_BYTES, giveBlock, takeBlock } from './spare-blocks.ts';

/** Enough for a short question; what waits long for its next bytes holds little. */
const FIRST_BYTES = 1024;

/** Grants or refuses memory, and takes it back. */
export interface MemoryGrant {
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * Copied bytes, laid end to end into blocks: 1 KiB, and from then on as much again as there is, up to 64 KiB at once. Every
 * block is asked of a {@link MemoryGrant} first; those of 64 KiB are used again by others.
 *
 * Bytes are copied because a reference to a small chunk pins the whole read buffer (64 KiB) that it was cut from, and into
 * blocks because one buffer that grows is copied at each growth.
 */
export class Slab {
  readonly #maxBytes: number;
  readonly #memory: MemoryGrant;
  /** Those that are full. */
  #blocks: Buffer[] | undefined;
  #filling: Buffer = NO_BYTES;
  /** Of the block being filled. */
  #filled = 0;
  #capacity = 0;

  constructor(maxBytes: number, memory: MemoryGrant) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  get length(): number {
    return this.#capacity - (this.#filling.length - this.#filled);
  }

  /**
   * Copies what lies from `start` to `end` of `bytes`; false when it is too much or the memory for it was refused, and then
   * nothing of it was copied.
   */
  append(bytes: Buffer, start: number, end: number): boolean {
    const room = this.#filling.length - this.#filled;
    if (end - start > room) return this.#appendAcross(bytes, start, end, room);
    // Not by `set`, which would need a view made for it.
    bytes.copy(this.#filling, this.#filled, start, end);
    this.#filled += end - start;
    return true;
  }

  #appendAcross(bytes: Buffer, start: number, end: number, room: number): boolean {
    const rest = end - start - room;
    const asMuchAgain = Math.min(Math.max(this.#capacity, FIRST_BYTES), BLOCK_BYTES);
    const left = this.#maxBytes - this.#capacity;
    if (rest > left) return false;
    const wanted = Math.min(Math.max(usable(rest), asMuchAgain), left);
    // What is left of the memory of all may do for just this chunk.
    const size = [wanted, rest].find((each) => this.#memory.reserve(each));
    if (size === undefined) return false;
    const block = allocate(size);
    if (this.#filling.length > 0) {
      bytes.copy(this.#filling, this.#filled, start, start + room);
      (this.#blocks ??= []).push(this.#filling);
    }
    bytes.copy(block, 0, start + room, end);
    this.#filling = block;
    this.#filled = rest;
    this.#capacity += size;
    return true;
  }

  /** In the blocks they were laid into. */
  pieces(): readonly Uint8Array[] {
    const last = this.#filling.subarray(0, this.#filled);
    return this.#blocks ? [...this.#blocks, last] : [last];
  }

  /** In one piece. When there was more than one block, what room was left is given back. */
  bytes(): Uint8Array {
    if (!this.#blocks) return this.#filling.subarray(0, this.#filled);
    const { length } = this;
    const whole = allocate(length);
    let at = 0;
    for (const piece of this.pieces()) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#giveBlocks();
    this.#memory.release(this.#capacity - length);
    this.#filling = whole;
    this.#filled = length;
    this.#capacity = length;
    return whole;
  }

  /** Gives the memory back: nobody may look at the pieces any more. */
  clear(): void {
    this.#memory.release(this.#capacity);
    this.#giveBlocks();
    this.#filling = NO_BYTES;
    this.#filled = 0;
    this.#capacity = 0;
  }

  #giveBlocks(): void {
    for (const block of this.#blocks ?? []) giveBlock(block);
    giveBlock(this.#filling);
    this.#blocks = undefined;
  }
}

/** Not from Node's shared pool: a slab may outlive its neighbours there by minutes. */
const allocate = (size: number): Buffer => (size === BLOCK_BYTES ? takeBlock() : Buffer.allocUnsafeSlow(size));

/** What is nearly a block may as well be one, and be used again. */
const usable = (size: number): number => (size > BLOCK_BYTES / 2 ? Math.max(size, BLOCK_BYTES) : size);

const NO_BYTES = Buffer.alloc(0);
