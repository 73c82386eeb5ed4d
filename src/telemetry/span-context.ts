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

/**
 * Text from the wire as it may stand in a span's name or in an attribute that backends group by: one line, of visible
 * characters, and short.
 */
export function toName(text: string): string {
  return truncate(text.replace(/[\s\p{C}]+/gu, ' ').trim(), NAME_LIMIT);
}

/** At most `limit` UTF-16 units of `text`, ended by an ellipsis when something was cut, no character cut in half. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
