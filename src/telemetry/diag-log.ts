import type { DiagLogger } from '@opentelemetry/api';
import { isJsonObject, parseJson } from '../lib/json.ts';
import type { LimitedLog } from './limited-log.ts';
import type { Logger } from './log.ts';
import { truncate } from './span-context.ts';

const MESSAGE_LIMIT = 500;

/** What the SDK says of itself, in our log: complaints through `limited`, by their level. */
export function diagLog(log: Pick<Logger, 'info' | 'debug' | 'trace'>, limited: LimitedLog): DiagLogger {
  return {
    error: (...parts) => limited('error', 'OpenTelemetry error', textOf(parts)),
    warn: (...parts) => limited('warn', 'OpenTelemetry warning', textOf(parts)),
    info: (...parts) => log.info(textOf(parts)),
    debug: (...parts) => log.debug(textOf(parts)),
    verbose: (...parts) => log.trace(textOf(parts)),
  };
}

function textOf(parts: readonly unknown[]): string {
  return truncate(`OpenTelemetry: ${parts.map((part) => messageOf(String(part))).join(' ')}`, MESSAGE_LIMIT);
}

/** The SDK writes an error that nobody caught as JSON with its stack: of that, what it says. */
function messageOf(text: string): string {
  const error = text.startsWith('{') ? parseJson(text) : undefined;
  if (!isJsonObject(error) || typeof error['stack'] !== 'string') return text;
  return typeof error['message'] === 'string' ? error['message'] : text;
}
