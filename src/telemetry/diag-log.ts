import type { DiagLogger } from '@opentelemetry/api';
import type { Logger } from './log.ts';
import { truncate } from './span-context.ts';

const WINDOW_MS = 60_000;
const MESSAGE_LIMIT = 500;

/**
 * What the SDK says of itself, in our log. A collector that is down makes it complain with every batch: a complaint is
 * let through once a minute per level, with the number of those in between, and the rest are for `debug`.
 */
export function diagLog(log: Logger, now: () => number): DiagLogger {
  const limited = (level: 'warn' | 'error') => {
    let opensAt = -Infinity;
    let left = 0;
    return (...parts: unknown[]) => {
      const message = textOf(parts);
      if (now() < opensAt) {
        left += 1;
        log.debug(message);
        return;
      }
      log[level](left === 0 ? {} : { similarSince: left }, message);
      opensAt = now() + WINDOW_MS;
      left = 0;
    };
  };
  return {
    error: limited('error'),
    warn: limited('warn'),
    info: (...parts) => log.info(textOf(parts)),
    debug: (...parts) => log.debug(textOf(parts)),
    verbose: (...parts) => log.trace(textOf(parts)),
  };
}

function textOf(parts: readonly unknown[]): string {
  return truncate(`OpenTelemetry: ${parts.map(String).join(' ')}`, MESSAGE_LIMIT);
}
