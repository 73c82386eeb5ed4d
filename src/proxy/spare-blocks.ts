/** As much as Node reads at once. */
export const BLOCK_BYTES = 64 * 1024;

/** Blocks that are kept while nobody needs them: 4 MiB. */
const MOST_SPARE = 64;

/** Shared by reads and copies: what one gives back the other can take. */
const spare: Buffer[] = [];

/**
 * A block of {@link BLOCK_BYTES}, with whatever was in it last. Memory that is taken anew for each large read or copy makes
 * V8 collect the garbage of the whole heap after every 64 MB that pass.
 */
export const takeBlock = (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);

/**
 * Gives a block back, to be overwritten by whoever takes it next: nobody may look at it any more, and it may not be given
 * back again. One that is never given back is garbage like any other, so whoever is not certain keeps it. What has another
 * size is left alone.
 */
export function giveBlock(block: Buffer): void {
  if (block.length === BLOCK_BYTES && spare.length < MOST_SPARE) spare.push(block);
}
