/** What stands in place of a secret. */
export const MASK = '****';

/** The text with `user:password@` and `?query` of every URL in it masked. */
export function maskUrls(value: string): string {
  return value.replace(/(:\/\/)[^/?#\s]*@/g, `$1${MASK}@`).replace(/(:\/\/[^\s?#]*\?)[^\s#]+/g, `$1${MASK}`);
}
