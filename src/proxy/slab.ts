import type { MemoryGrant } from './memory-grant.ts';
import { allocate, nextBlock, NO_BYTES } from './next-block.ts';
import { giveBlock } from './spare-blocks.ts';

/**
 * Copied bytes, laid end to end into blocks. Every block is asked of a {@link MemoryGrant} first; those of 64 KiB are used
 * again by others.
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

  /** Copies `chunk`; false when it is too much or the memory for it was refused, and then nothing of it was copied. */
  append(chunk: Uint8Array): boolean {
    const room = this.#filling.length - this.#filled;
    if (chunk.length > room) return this.#appendAcross(chunk, room);
    this.#filling.set(chunk, this.#filled);
    this.#filled += chunk.length;
    return true;
  }

  #appendAcross(chunk: Uint8Array, room: number): boolean {
    const rest = chunk.length - room;
    const left = this.#maxBytes - this.#capacity;
    if (rest > left) return false;
    const block = nextBlock(this.#memory, this.#capacity, rest, left);
    if (!block) return false;
    if (this.#filling.length > 0) {
      this.#filling.set(chunk.subarray(0, room), this.#filled);
      (this.#blocks ??= []).push(this.#filling);
    }
    block.set(chunk.subarray(room));
    this.#filling = block;
    this.#filled = rest;
    this.#capacity += block.length;
    return true;
  }

  /** In one piece. When there was more than one block, what room was left is given back. */
  bytes(): Uint8Array {
    if (!this.#blocks) return this.#filling.subarray(0, this.#filled);
    const { length } = this;
    const whole = allocate(length);
    let at = 0;
    for (const piece of [...this.#blocks, this.#filling.subarray(0, this.#filled)]) {
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

  /** Gives the memory back: nobody may look at the bytes any more. */
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
