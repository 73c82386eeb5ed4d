import type { Writable } from 'node:stream';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Prints spans for as long as `output`, standard output, is read: what nobody reads would be held without end.
 *
 * @param onLeftOut told how many spans are not printed, each time.
 */
export function consoleExport(
  exporter: SpanExporter,
  output: Pick<Writable, 'writableLength'>,
  onLeftOut: (count: number) => void,
): SpanExporter {
  return {
    export(spans, done) {
      const isRead = output.writableLength < MAX_WAITING_BYTES;
      if (!isRead) onLeftOut(spans.length);
      exporter.export(isRead ? spans : [], done);
    },
    shutdown: () => exporter.shutdown(),
  };
}
