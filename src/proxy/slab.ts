const FIRST_BYTES = 4096;

/** One buffer that copied bytes are laid into, end to end. */
export interface Slab {
  length(): number;
  /** Copies `chunk`; false when the memory for it was refused, and then nothing of it was copied. */
  append(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
  /** Gives the memory back. */
  clear(): void;
}

/** Grants or refuses memory, and takes it back. */
export interface MemoryGrant {
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * Bytes are copied because a reference to a small chunk pins the whole read buffer (64 KiB) that it was cut from. The
 * buffer starts at 4 KiB and doubles up to `maxBytes`; every growth is asked of `memory` first.
 */
export function createSlab(maxBytes: number, memory: MemoryGrant): Slab {
  let buffer = Buffer.alloc(0);
  let length = 0;

  function grow(neededBytes: number): boolean {
    let capacity = Math.max(buffer.length, FIRST_BYTES);
    while (capacity < neededBytes) capacity *= 2;
    capacity = Math.max(neededBytes, Math.min(capacity, maxBytes));
    if (!memory.reserve(capacity - buffer.length)) return false;
    // Not from Node's shared pool: a slab may outlive its neighbours there by minutes.
    const grown = Buffer.allocUnsafeSlow(capacity);
    buffer.copy(grown, 0, 0, length);
    buffer = grown;
    return true;
  }

  return {
    length: () => length,
    append(chunk) {
      const needed = length + chunk.length;
      if (needed > maxBytes || (needed > buffer.length && !grow(needed))) return false;
      buffer.set(chunk, length);
      length = needed;
      return true;
    },
    bytes: () => buffer.subarray(0, length),
    clear() {
      memory.release(buffer.length);
      buffer = Buffer.alloc(0);
      length = 0;
    },
  };
}
