/** As much as Node reads at once. */
export const READ_BYTES = 64 * 1024;

/** Less would waste too much of a block that a slow client, or a path that gives none back, holds. */
const LARGE_BYTES = 48 * 1024;

/** Blocks that are kept while nobody needs them: 2 MiB. */
const MOST_SPARE = 32;

const spare: Buffer[] = [];
const lent = new WeakMap<ArrayBufferLike, Buffer>();

/**
 * A copy of what was read. A large one is laid into a block that is used again once it is given back: memory that is taken
 * anew for each large read makes V8 collect the garbage of the whole heap after every 64 MB that pass.
 */
export function copyOfRead(bytes: Uint8Array): Buffer {
  if (bytes.length < LARGE_BYTES) return Buffer.from(bytes);
  const block = spare.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
  lent.set(block.buffer, block);
  block.set(bytes);
  return block.subarray(0, bytes.length);
}

export const isLargeRead = (bytes: Buffer): boolean => bytes.length >= LARGE_BYTES;

/**
 * Gives a copy back, to be overwritten by a later read: nobody may look at it any more. A copy that is never given back is
 * garbage like any other, so whoever is not certain keeps it. What is no such copy, or was given back, is left alone.
 */
export function giveBack(copy: Buffer): void {
  const block = lent.get(copy.buffer);
  if (!block) return;
  lent.delete(copy.buffer);
  if (spare.length < MOST_SPARE) spare.push(block);
}
