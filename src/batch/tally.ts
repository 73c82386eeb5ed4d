import type { Verdict } from '../metrics/metric.ts';

/** What came of a batch, in numbers; see {@link createTally}. */
interface Tally {
  add(verdict: Verdict): void;
  /** Failed rows of one error type. */
  failedAs(errorType: string): number;
  /** How many were added. */
  rows(): number;
  /** What became of them, in one line. */
  summary(): string;
}

/** Counts verdicts by kind, and failed ones by their error type, so that a judge that answers nothing is seen at once. */
export function createTally(): Tally {
  let scored = 0;
  let notApplicable = 0;
  const failed = new Map<string, number>();
  const failures = (): number => failed.values().reduce((sum, count) => sum + count, 0);
  return {
    add(verdict) {
      switch (verdict.kind) {
        case 'scored':
          scored++;
          break;
        case 'not_applicable':
          notApplicable++;
          break;
        case 'failed':
          failed.set(verdict.errorType, (failed.get(verdict.errorType) ?? 0) + 1);
      }
    },
    failedAs: (errorType) => failed.get(errorType) ?? 0,
    rows: () => scored + notApplicable + failures(),
    summary() {
      const byType = [...failed].map(([errorType, count]) => `${errorType} ${count}`).toSorted();
      const types = byType.length > 0 ? ` (${byType.join(', ')})` : '';
      return `${scored} scored, ${notApplicable} not applicable, ${failures()} failed${types}`;
    },
  };
}
