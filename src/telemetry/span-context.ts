import { createTraceState, type HrTime, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { SpanLink } from '../agui/capture.ts';

/**
 * What survives the span, a restart and the way to another process. While nothing traces the ids are all zeros, and
 * nothing is ever attached or linked to such a span.
 */
export function toSpanLink({ traceId, spanId, traceFlags, traceState }: SpanContext): SpanLink {
  const state = traceState?.serialize();
  return { traceId, spanId, traceFlags, ...(state ? { traceState: state } : {}) };
}

/** The span that a kept link names, as a remote one; undefined when it names none. */
export function fromSpanLink({ traceId, spanId, traceFlags, traceState }: SpanLink): SpanContext | undefined {
  const state = traceState === undefined ? {} : { traceState: createTraceState(traceState) };
  const spanContext = { traceId, spanId, traceFlags, isRemote: true, ...state };
  return isSpanContextValid(spanContext) ? spanContext : undefined;
}

export function isSampled({ traceFlags }: { readonly traceFlags: number }): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/**
 * Epoch milliseconds as the API's unambiguous form of time: it takes a small plain number for a reading of
 * `performance.now()`.
 */
export function toHrTime(epochMs: number): HrTime {
  const microseconds = Math.round(epochMs * 1000);
  return [Math.floor(microseconds / 1e6), (microseconds % 1e6) * 1000];
}

/** Longest part of a span's name that comes from elsewhere. */
const NAME_LIMIT = 128;
/** Longest id that comes from elsewhere; generators of ids stay far below. */
const ID_LIMIT = 256;
/** Of a text from elsewhere no more is looked at: a megabyte is a legal name of a tool. */
const READ_LIMIT = 1024;

/**
 * Text from the wire as it may stand in a span's name or in an attribute that backends group by: one line, of visible
 * characters, and short.
 */
export function toName(text: string): string {
  return truncate(
    text
      .slice(0, READ_LIMIT)
      .replace(/[\s\p{C}]+/gu, ' ')
      .trim(),
    NAME_LIMIT,
  );
}

/**
 * An id from the wire as it may stand in an attribute; undefined for an empty one, which is none. What steers a terminal,
 * ends a line, turns the direction of writing or is no character at all becomes U+FFFD, and it is short.
 */
export function toId(id: string | undefined): string | undefined {
  if (!id) return undefined;
  return truncate(id.slice(0, READ_LIMIT).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\uFFFD'), ID_LIMIT);
}

/**
 * At most `limit` UTF-16 units of `text`, ended by an ellipsis when something was cut, no character cut in half; halves that
 * were there before become U+FFFD.
 */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text.toWellFormed();
  return `${text
    .slice(0, limit - 1)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed()}…`;
}
