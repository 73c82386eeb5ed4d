import type { DroppedFindings, Finding, FindingCode } from './findings.ts';

/** Findings kept per code and exchange. A server with a bad habit shows it on every event; a thousand make the point. */
export const FINDINGS_PER_CODE = 1000;

/** Characters kept of an id: one that is long, named by a thousand findings, would be far more than the stream that sent it. */
export const FINDING_ID_CHARACTERS = 256;

/** Codes that say how an event was written, once however often it was: the others say what became of something it concerns. */
const OF_THE_EVENT: ReadonlySet<FindingCode> = new Set([
  'null_optional',
  'snake_case',
  'malformed_event',
  'malformed_json',
  'retired_event',
  'unknown_event',
]);

export interface FindingLog {
  /** What was noted already of the same event, and of the same message, call or run in it, is not noted again. */
  note(code: FindingCode, at: number, id: string): void;
  /** All that were kept, by position. */
  findings(): Finding[];
  /** How many were not kept, by code; empty when all were. */
  dropped(): DroppedFindings[];
}

export function createFindingLog(): FindingLog {
  const kept: Finding[] = [];
  const counts = new Map<FindingCode, number>();
  const ofLastEvent = new Set<string>();
  let lastAt: number | undefined;
  const isRepeated = (code: FindingCode, at: number, id: string): boolean => {
    if (at !== lastAt) ofLastEvent.clear();
    lastAt = at;
    const key = OF_THE_EVENT.has(code) ? code : `${code} ${id}`;
    const isKnown = ofLastEvent.has(key);
    ofLastEvent.add(key);
    return isKnown;
  };
  return {
    note: (code, at, whole) => {
      const id = whole.slice(0, FINDING_ID_CHARACTERS);
      if (isRepeated(code, at, id)) return;
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
