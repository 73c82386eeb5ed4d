import { giveBlock, takeBlock } from './spare-blocks.ts';

/** Less would waste too much of a block that a slow client, or a path that gives none back, holds. */
const LARGE_BYTES = 48 * 1024;

const lent = new WeakMap<ArrayBufferLike, Buffer>();

/** A copy of what was read, one block at most. A large one is laid into a block that {@link giveBack} takes back. */
export function copyOfRead(bytes: Uint8Array): Buffer {
  if (bytes.length < LARGE_BYTES) return Buffer.from(bytes);
  const block = takeBlock();
  lent.set(block.buffer, block);
  block.set(bytes);
  return block.subarray(0, bytes.length);
}

export const isLargeRead = (bytes: Buffer): boolean => bytes.length >= LARGE_BYTES;

/**
 * Gives a copy back, to be overwritten by a later one: nobody may look at it any more. A copy that is never given back is
 * garbage like any other, so whoever is not certain keeps it. What is no such copy, or was given back, is left alone.
 */
export function giveBack(copy: Buffer): void {
  const block = lent.get(copy.buffer);
  if (!block) return;
  lent.delete(copy.buffer);
  giveBlock(block);
}
