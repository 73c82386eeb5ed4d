/**
 * What the collector repaired or noticed in a stream. A closed list: it is the label `code` of
 * `agui_eval_findings_total`.
 */
export const FINDING_CODES = [
  'missing_start',
  'missing_end',
  'duplicate_start',
  'orphan_result',
  'duplicate_result',
  'unparsed_arguments',
  'late_arguments',
  'event_after_end',
  'no_terminal_event',
  'null_optional',
  'snake_case',
  'unknown_event',
  'malformed_event',
  'malformed_json',
  'retired_event',
  'id_mismatch',
  'snapshot_omits',
  'crlf_framing',
  'truncated_tap',
  'undecodable',
] as const;

export type FindingCode = (typeof FINDING_CODES)[number];

/** Findings of one code that are counted and not kept. */
export interface DroppedFindings {
  readonly code: FindingCode;
  readonly count: number;
}

export interface Finding {
  readonly code: FindingCode;
  /** 0-based index of the event in its stream; the number of events read when it concerns the stream's end. */
  readonly at: number;
  /** The message, tool call, run or event type concerned, by the beginning of a long id; empty when there is none. */
  readonly id: string;
}

/** Whether what an exchange said is known in part only. */
export const isPartlyRead = (findings: readonly Finding[]): boolean =>
  findings.some(({ code }) => code === 'truncated_tap' || code === 'undecodable');
