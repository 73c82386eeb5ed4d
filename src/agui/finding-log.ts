import type { DroppedFindings, Finding, FindingCode } from './findings.ts';

/** Findings kept per code and exchange. A server with a bad habit shows it on every event; a thousand make the point. */
export const FINDINGS_PER_CODE = 1000;

export interface FindingLog {
  note(code: FindingCode, at: number, id: string): void;
  /** All that were kept, by position. */
  findings(): Finding[];
  /** How many were not kept, by code; empty when all were. */
  dropped(): DroppedFindings[];
}

export function createFindingLog(): FindingLog {
  const kept: Finding[] = [];
  const counts = new Map<FindingCode, number>();
  return {
    note: (code, at, id) => {
      const count = (counts.get(code) ?? 0) + 1;
      counts.set(code, count);
      if (count <= FINDINGS_PER_CODE) kept.push({ code, at, id });
    },
    findings: () => kept.toSorted((one, other) => one.at - other.at),
    dropped: () =>
      [...counts].flatMap(([code, count]) =>
        count > FINDINGS_PER_CODE ? [{ code, count: count - FINDINGS_PER_CODE }] : [],
      ),
  };
}
