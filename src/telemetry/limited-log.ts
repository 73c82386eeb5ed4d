import type { Logger } from './log.ts';

const WINDOW_MS = 60_000;

/**
 * Writes a line, or counts it. Lines of one `kind` tell of the same; a caller has few kinds, and they are kept. `members` are
 * what the line carries beside its message.
 */
export type LimitedLog = (
  level: 'warn' | 'error',
  kind: string,
  message: string,
  members?: Readonly<Record<string, unknown>>,
) => void;

/**
 * What goes on failing complains each time. Of each kind one line a minute is let through, with the number of those left
 * out since the last, and the rest are for `debug`.
 *
 * @param now milliseconds that never go back.
 */
export function limitedLog(log: Pick<Logger, 'warn' | 'error' | 'debug'>, now: () => number): LimitedLog {
  const windows = new Map<string, { readonly endsAt: number; left: number }>();
  return (level, kind, message, members = {}) => {
    const window = windows.get(kind);
    if (window && now() < window.endsAt) {
      window.left += 1;
      log.debug(members, message);
      return;
    }
    log[level](window?.left ? { ...members, similarSince: window.left } : members, message);
    windows.set(kind, { endsAt: now() + WINDOW_MS, left: 0 });
  };
}
