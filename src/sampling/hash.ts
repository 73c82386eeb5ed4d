import { hash } from 'node:crypto';

/**
 * Maps a list of strings to a number in [0, 1), uniformly and the same on every machine: the first 53 bits of a SHA-256.
 */
export function unitHash(parts: readonly (string | null)[]): number {
  const digest = hash('sha256', JSON.stringify(parts), 'buffer');
  return Number(digest.readBigUInt64BE() >> 11n) / 2 ** 53;
}
