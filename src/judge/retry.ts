const BASE_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;

/** An endpoint that asks for a longer wait than this is not waited for. */
export const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * How long to wait before a request is sent again, in milliseconds.
 *
 * Exponential from half a second, the upper half of it random, so that questions refused together do not come back
 * together; with a `retryAfterMs` never less than that.
 *
 * @param retry 0 before the first retry.
 * @param random uniform in [0, 1).
 * @returns undefined when the endpoint asks for more patience than a question has.
 */
export function retryDelayMs(
  retry: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number | undefined {
  if (retryAfterMs === undefined) {
    const ceilingMs = Math.min(BASE_MS * 2 ** retry, LONGEST_BACKOFF_MS);
    return ceilingMs * (0.5 + 0.5 * random());
  }
  if (retryAfterMs > LONGEST_RETRY_AFTER_MS) return undefined;
  return retryAfterMs + BASE_MS * random();
}

/**
 * Reads `retry-after-ms` and `Retry-After` (RFC 9110 section 10.2.3: seconds or a date).
 *
 * @param nowMs epoch milliseconds, for dates.
 * @returns milliseconds, at least 0; undefined when neither header says anything readable.
 */
export function readRetryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const inMs = headers.get('retry-after-ms');
  const after = headers.get('retry-after');
  for (const candidate of [
    inMs === null ? Number.NaN : Number.parseFloat(inMs),
    after === null
      ? Number.NaN
      : /^\s*[\d.]+\s*$/.test(after)
        ? Number.parseFloat(after) * 1_000
        : Date.parse(after) - nowMs,
  ]) {
    if (Number.isFinite(candidate)) return Math.max(0, candidate);
  }
  return undefined;
}
