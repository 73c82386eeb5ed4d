import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { isSampled } from './span-context.ts';

/** What became of a span. At rest, spans ended = exported + failed + dropped. */
export const SPAN_OUTCOMES = ['exported', 'failed', 'dropped'] as const;
export type SpanOutcome = (typeof SPAN_OUTCOMES)[number];

/** `ExportResultCode.SUCCESS`, whose package is not ours to import. */
const EXPORT_SUCCEEDED = 0;

export interface CountedExportOptions {
  readonly exporter: SpanExporter;
  /** Spans that may wait; one more is dropped. */
  readonly capacity: number;
  /** Makes the processor that batches for the exporter it is given. Its queue must hold `capacity` spans. */
  readonly batch: (exporter: SpanExporter) => SpanProcessor;
  readonly onSpans: (outcome: SpanOutcome, count: number) => void;
  /** Told why a batch failed, after its spans were counted. */
  readonly onFailed: (error: unknown, count: number) => void;
}

export interface CountedExport {
  readonly processor: SpanProcessor;
  /** Spans that wait to be sent; those being sent are no longer among them. */
  queueLength(): number;
  /** Spans of which it is not known yet what becomes of them: waiting or being sent. */
  unsettled(): number;
}

/**
 * Counts what the SDK's batch processor and exporter tell nobody: spans sent, spans that failed, which are lost, and
 * spans that found the queue full. The bound is kept here, so that the count of drops is exact.
 */
export function countedExport({ exporter, capacity, batch, onSpans, onFailed }: CountedExportOptions): CountedExport {
  let queued = 0;
  let sending = 0;
  let stopped = false;
  const inner = batch({
    export(spans, done) {
      queued -= spans.length;
      sending += spans.length;
      exporter.export(spans, (result) => {
        sending -= spans.length;
        const code: number = result.code;
        const isTaken = code === EXPORT_SUCCEEDED;
        onSpans(isTaken ? 'exported' : 'failed', spans.length);
        if (!isTaken) onFailed(result.error, spans.length);
        // Told of a failure, the processor would only write its stack to the log, and at the end leave the exporter open.
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the enum's package is not ours to import
        done({ code: EXPORT_SUCCEEDED });
      });
    },
    shutdown: () => exporter.shutdown(),
  });
  return {
    queueLength: () => queued,
    unsettled: () => queued + sending,
    processor: {
      onStart: (span, context) => inner.onStart(span, context),
      onEnd(span) {
        if (!isSampled(span.spanContext())) return;
        if (stopped || queued >= capacity) {
          onSpans('dropped', 1);
          return;
        }
        queued += 1;
        inner.onEnd(span);
      },
      forceFlush: () => inner.forceFlush(),
      shutdown() {
        stopped = true;
        return inner.shutdown();
      },
    },
  };
}
