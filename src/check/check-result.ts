/** What came of checking one thing that the sidecar depends on. */
export interface CheckResult {
  readonly item: string;
  /** `skipped`: there is nothing to check, or it could not be checked; not a failure. */
  readonly status: 'ok' | 'failed' | 'skipped';
  /** What was seen, in a sentence. */
  readonly detail: string;
  /** What to do about it, in a sentence. */
  readonly remedy?: string;
}
