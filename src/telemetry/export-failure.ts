import { errorCode } from '../lib/error-code.ts';
import { maskUrls } from '../lib/mask-urls.ts';
import type { LimitedLog } from './limited-log.ts';

/** Logs batches that the collector did not take. @param endpoint where they were sent, with whatever secrets it holds. */
export function exportFailureLog(limited: LimitedLog, endpoint: string): (error: unknown, spans: number) => void {
  const shown = maskUrls(endpoint);
  return (error, spans) => {
    const status = statusOf(error);
    const message = `spans could not be sent (${reasonOf(error)}): ${exportRemedy(status)}; until then spans are lost, and metrics are not`;
    limited('error', 'spans', message, { endpoint: shown, spans });
  };
}

/** What to do about a collector that takes no spans. @param status of its answer; undefined when there was none. */
export function exportRemedy(status: number | undefined): string {
  switch (status) {
    case undefined:
      return 'start a collector, correct OTEL_EXPORTER_OTLP_ENDPOINT, or turn spans off with OTEL_TRACES_EXPORTER=none';
    case 401:
    case 403:
      return 'correct OTEL_EXPORTER_OTLP_HEADERS, which carries the credentials';
    case 404:
    case 405:
      return 'correct OTEL_EXPORTER_OTLP_ENDPOINT, which stands without /v1/traces';
    case 413:
      return 'send less at once with OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or let the collector take more';
    default:
      return "see the collector's own log, or correct OTEL_EXPORTER_OTLP_ENDPOINT";
  }
}

/** The exporter's errors carry the status of an answer as their code; others a code of the system, or none. */
function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** Without a word of the answer: what a collector says of a status may quote what it was sent. */
function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status !== undefined) return `status ${status}`;
  return errorCode(error) ?? (error instanceof Error ? error.message : 'no reason given');
}
