/** What came of checking one thing that the sidecar depends on. */
export interface CheckResult {
  readonly item: string;
  /**
   * `warning`: it does not work, and the sidecar does without. `skipped`: there is nothing to check. Neither is a
   * failure.
   */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was seen, in a sentence. */
  readonly detail: string;
  /** What to do about it, in a sentence. */
  readonly remedy?: string;
}

/** A message that the log or an error would show, as a sentence of its own. */
export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
