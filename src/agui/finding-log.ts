import type { Finding, FindingCode } from './findings.ts';

/** Findings kept per code and exchange. A server with a bad habit shows it on every event; a thousand make the point. */
export const FINDINGS_PER_CODE = 1000;

export interface FindingLog {
  note(code: FindingCode, at: number, id: string): void;
  /** All that were kept, by position. */
  findings(): Finding[];
  /** How many were not kept. */
  dropped(): number;
}

export function createFindingLog(): FindingLog {
  const kept: Finding[] = [];
  const counts = new Map<FindingCode, number>();
  let dropped = 0;
  return {
    note: (code, at, id) => {
      const count = (counts.get(code) ?? 0) + 1;
      counts.set(code, count);
      if (count <= FINDINGS_PER_CODE) kept.push({ code, at, id });
      else dropped += 1;
    },
    findings: () => kept.toSorted((one, other) => one.at - other.at),
    dropped: () => dropped,
  };
}
