import type { Capture } from '../../src/agui/capture.ts';
import type { ReadBounds } from '../../src/agui/read-capture.ts';

export const BOUNDS: ReadBounds = { maxEventBytes: 256 * 1024, maxDecodedBytes: 1024 * 1024 };

interface CaptureParts {
  readonly pieces?: readonly Uint8Array[];
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly status?: number;
  /** The request body, as JSON. */
  readonly request?: unknown;
  readonly overrides?: Partial<Capture>;
}

/** A capture of a POST to `/`; the n-th piece of the response arrived 10 ms after the one before. */
export function captureOf(parts: CaptureParts): Capture {
  const { pieces = [], contentType = 'text/event-stream', contentEncoding = '', status = 200, request } = parts;
  return {
    agent: 'harbour',
    method: 'POST',
    path: '/',
    request: {
      contentType: 'application/json',
      contentEncoding: '',
      ...(request === undefined ? {} : { body: Buffer.from(JSON.stringify(request)) }),
    },
    response: {
      status,
      contentType,
      contentEncoding,
      body: pieces.map((bytes, index) => ({ bytes, at: 1010 + 10 * index })),
    },
    truncated: false,
    transport: 'complete',
    startedAt: 1000,
    endedAt: 2000,
    trace: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 },
    ...parts.overrides,
  };
}
