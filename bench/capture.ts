import type { Capture } from '../src/agui/capture.ts';

/** A run's request and what the agent sent for it, one chunk an event, as each was written when it was ready. */
export interface RecordedRun {
  readonly request: Uint8Array;
  readonly chunks: readonly Buffer[];
}

/** One run with these events inside. `messages` is the history that its request brings. */
export function recordRun(
  { threadId, runId }: { readonly threadId: string; readonly runId: string },
  inner: Iterable<object>,
  messages: readonly object[] = [],
): RecordedRun {
  const events = [{ type: 'RUN_STARTED', threadId, runId }, ...inner, { type: 'RUN_FINISHED', threadId, runId }];
  return {
    request: Buffer.from(
      JSON.stringify({ threadId, runId, state: {}, messages, tools: [], context: [], forwardedProps: {} }),
    ),
    chunks: events.map((event) => Buffer.from(`data: ${JSON.stringify({ ...event, timestamp: 1.8e12 })}\n\n`)),
  };
}

/** What the tap hands over of a run whose events came `everyMs` apart; 0: all in one chunk. */
export function captureOf({ request, chunks }: RecordedRun, everyMs: number): Capture {
  return {
    agent: 'agent',
    method: 'POST',
    path: '/',
    request: { contentType: 'application/json', contentEncoding: '', body: request },
    response: {
      status: 200,
      contentType: 'text/event-stream',
      contentEncoding: '',
      body:
        everyMs === 0
          ? [{ bytes: Buffer.concat(chunks), at: 0 }]
          : chunks.map((bytes, index) => ({ bytes, at: index * everyMs })),
    },
    truncated: false,
    transport: 'complete',
    startedAt: 0,
    endedAt: chunks.length * everyMs,
    trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 },
  };
}

/** Bounds that nothing here reaches. */
export const NO_BOUNDS = { maxEventBytes: 2 ** 30, maxDecodedBytes: 2 ** 30 };
