import type { MemoryGrant } from './memory-grant.ts';
import { BLOCK_BYTES, takeBlock } from './spare-blocks.ts';

/** What a copy begins with. */
export const NO_BYTES = Buffer.alloc(0);

/** Enough for a short question; what waits long for its next bytes holds little. */
const FIRST_BYTES = 1024;

/**
 * The next block of a copy that grows: 1 KiB, and from then on as much again as there is, up to 64 KiB at once, or what is
 * needed where that is more. What is left of the memory of all may do for just what is needed. Absent when that was refused
 * as well.
 *
 * @param capacity bytes of the blocks so far.
 * @param needed bytes that the block must hold, at least 1.
 * @param most bytes that it may hold, at least `needed`.
 */
export function nextBlock(memory: MemoryGrant, capacity: number, needed: number, most = Infinity): Buffer | undefined {
  const asMuchAgain = Math.min(Math.max(capacity, FIRST_BYTES), BLOCK_BYTES);
  const wanted = Math.min(Math.max(usable(needed), asMuchAgain), most);
  const size = [wanted, needed].find((bytes) => memory.reserve(bytes));
  if (size === undefined) return undefined;
  try {
    return allocate(size);
  } catch (error) {
    memory.release(size);
    throw error;
  }
}

/** Not from Node's shared pool: a copy may outlive its neighbours there by minutes. */
export const allocate = (size: number): Buffer => (size === BLOCK_BYTES ? takeBlock() : Buffer.allocUnsafeSlow(size));

/** What is nearly a block may as well be one, and be used again. */
const usable = (size: number): number => (size > BLOCK_BYTES / 2 ? Math.max(size, BLOCK_BYTES) : size);
