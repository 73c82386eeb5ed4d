import type { Writable } from 'node:stream';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Prints spans for as long as `output`, standard output, is read: what nobody reads would be held without end.
 *
 * @param onLeftOut told each time that spans are not printed.
 */
export function consoleExport(
  exporter: SpanExporter,
  output: Pick<Writable, 'writableLength'>,
  onLeftOut: () => void,
): SpanExporter {
  return {
    export(spans, done) {
      const isRead = output.writableLength < MAX_WAITING_BYTES;
      if (!isRead) onLeftOut();
      exporter.export(isRead ? spans : [], done);
    },
    shutdown: () => exporter.shutdown(),
  };
}
