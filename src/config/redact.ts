import { MASK, maskUrls } from '../lib/mask-urls.ts';

const LONGEST_SHOWN = 80;

/**
 * A given value as a message may show it: quoted, on one line, cut when long. Secrets are masked whole; so are user
 * names, passwords and queries inside URLs, which often carry keys.
 */
export function showGiven(value: string, { secret = false } = {}): string {
  if (secret) return MASK;
  const masked = maskUrls(value);
  return JSON.stringify(masked.length > LONGEST_SHOWN ? `${masked.slice(0, LONGEST_SHOWN)}…` : masked);
}
