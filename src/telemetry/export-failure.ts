import { errorCode } from '../lib/error-code.ts';
import { maskUrls } from '../lib/mask-urls.ts';
import type { LimitedLog } from './limited-log.ts';
import type { EndpointVariable } from './otel-environment.ts';

/** Where spans are sent. */
interface Destination {
  /** With whatever secrets it holds. */
  readonly endpoint: string;
  /** The variable that says so. */
  readonly variable: EndpointVariable;
}

/** Logs batches that the collector did not take. */
export function exportFailureLog(
  limited: LimitedLog,
  { endpoint, variable }: Destination,
): (error: unknown, spans: number) => void {
  const shown = maskUrls(endpoint);
  return (error, spans) => {
    const remedy = exportRemedy(failureOf(error), variable);
    const message = `spans could not be sent (${reasonOf(error)}): ${remedy}; until then spans are lost, and metrics are not`;
    limited('error', 'spans', message, { endpoint: shown, spans });
  };
}

/** The status of the collector's answer, or the system's code for there being none. */
export const failureOf = (error: unknown): number | string | undefined => statusOf(error) ?? errorCode(error);

/** What to do about a collector that takes no spans. `failure`: see {@link failureOf}. */
export function exportRemedy(failure: number | string | undefined, variable: EndpointVariable): string {
  switch (failure) {
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `start a collector, correct ${variable}, or turn spans off with OTEL_TRACES_EXPORTER=none`;
    case 401:
    case 403:
      return 'correct OTEL_EXPORTER_OTLP_HEADERS, which carries the credentials';
    case 404:
    case 405:
      return variable === 'OTEL_EXPORTER_OTLP_ENDPOINT'
        ? `correct ${variable}, which stands without /v1/traces`
        : `correct ${variable}, which is taken as it stands, /v1/traces included`;
    case 413:
      return 'send less at once with OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or let the collector take more';
    default:
      return `see the collector's own log, and that ${variable} is its address`;
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
