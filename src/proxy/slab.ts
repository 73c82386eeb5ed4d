/** Enough for a short question; what waits long for its next bytes holds little. */
const FIRST_BLOCK_BYTES = 1024;
const LAST_BLOCK_BYTES = 64 * 1024;

/** Grants or refuses memory, and takes it back. */
export interface MemoryGrant {
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * Copied bytes, laid end to end into blocks: 1 KiB, and from then on as much again as there is, up to 64 KiB at once. Every
 * block is asked of a {@link MemoryGrant} first.
 *
 * Bytes are copied because a reference to a small chunk pins the whole read buffer (64 KiB) that it was cut from, and into
 * blocks because one buffer that grows is copied at each growth.
 */
export class Slab {
  readonly #maxBytes: number;
  readonly #memory: MemoryGrant;
  /** Those that are full. */
  #blocks: Uint8Array[] | undefined;
  #filling: Uint8Array = NO_BYTES;
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
    const asMuchAgain = Math.min(Math.max(this.#capacity, FIRST_BLOCK_BYTES), LAST_BLOCK_BYTES, left);
    const size = Math.max(rest, asMuchAgain);
    if (size > left || !this.#memory.reserve(size)) return false;
    // Not from Node's shared pool: a slab may outlive its neighbours there by minutes.
    const block = Buffer.allocUnsafeSlow(size);
    if (this.#filling.length > 0) {
      this.#filling.set(chunk.subarray(0, room), this.#filled);
      (this.#blocks ??= []).push(this.#filling);
    }
    block.set(chunk.subarray(room));
    this.#filling = block;
    this.#filled = rest;
    this.#capacity += size;
    return true;
  }

  /** All of them in one piece. When there was more than one block, what room was left is given back. */
  bytes(): Uint8Array {
    if (!this.#blocks) return this.#filling.subarray(0, this.#filled);
    const { length } = this;
    const whole = Buffer.allocUnsafeSlow(length);
    let at = 0;
    for (const block of this.#blocks) {
      whole.set(block, at);
      at += block.length;
    }
    whole.set(this.#filling.subarray(0, this.#filled), at);
    this.#memory.release(this.#capacity - length);
    this.#blocks = undefined;
    this.#filling = whole;
    this.#filled = length;
    this.#capacity = length;
    return whole;
  }

  /** Gives the memory back. */
  clear(): void {
    this.#memory.release(this.#capacity);
    this.#blocks = undefined;
    this.#filling = NO_BYTES;
    this.#filled = 0;
    this.#capacity = 0;
  }
}

const NO_BYTES = new Uint8Array(0);
