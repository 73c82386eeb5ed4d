import { hash } from 'node:crypto';

/**
 * Maps a list of strings to a number in [0, 1), uniformly and the same on every machine: the first 53 bits of a SHA-256.
 */
export function unitHash(parts: readonly (string | null)[]): number {
  const digest = hash('sha256', JSON.stringify(parts), 'hex');
  const first32 = Number.parseInt(digest.slice(0, 8), 16);
  const next21 = Number.parseInt(digest.slice(8, 16), 16) >>> 11;
  return (first32 * 2 ** 21 + next21) / 2 ** 53;
}
