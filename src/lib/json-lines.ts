import type { z } from 'zod';
import { describeJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts';

/** What is wrong with one line of input, and in which field; `field` is empty when it is the line itself. */
export interface LineProblem {
  /** From 1. */
  readonly line: number;
  readonly field: string;
  readonly message: string;
}

/** The row of one line, or everything that is wrong with it. */
export type RowReading<Row> =
  | { readonly ok: true; readonly row: Row }
  | { readonly ok: false; readonly problems: readonly Omit<LineProblem, 'line'>[] };

export type RowsReading<Row> =
  | { readonly ok: true; readonly rows: readonly Row[] }
  | { readonly ok: false; readonly problems: readonly LineProblem[] };

/** Reads JSON lines, each holding an object. Blank lines are skipped. Either all rows are good or none is returned. */
export function readJsonLines<Row>(
  text: string,
  readRow: (value: JsonObject, line: number) => RowReading<Row>,
): RowsReading<Row> {
  const rows: Row[] = [];
  const problems: LineProblem[] = [];
  for (const [index, content] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (content.trim() === '') continue;
    const line = index + 1;
    const reading = readLine(content, line, readRow);
    if (reading.ok) rows.push(reading.row);
    else problems.push(...reading.problems.map((problem) => ({ line, ...problem })));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rows };
}

function readLine<Row>(
  content: string,
  line: number,
  readRow: (value: JsonObject, line: number) => RowReading<Row>,
): RowReading<Row> {
  let value: JsonValue;
  try {
    value = JSON.parse(content);
  } catch (error) {
    const message = `not JSON (${error instanceof Error ? error.message : String(error)}); expected one object a line`;
    return { ok: false, problems: [{ field: '', message }] };
  }
  if (isJsonObject(value)) return readRow(value, line);
  return { ok: false, problems: [{ field: '', message: `given ${describeJson(value)}, expected an object` }] };
}

/** Reads a row by a schema. */
export function readBySchema<Row>(schema: z.ZodType<Row>, value: JsonObject): RowReading<Row> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, row: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => ({ field: path.map(String).join('.'), message }));
  return { ok: false, problems };
}

const SHOWN_PROBLEMS = 20;

/** One problem a line, for the person who has to mend the input. `subject` stands before "has a fault". */
export function formatLineProblems(subject: string, problems: readonly LineProblem[]): string {
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ line, field, message }) => `  line ${line}: ${field === '' ? '' : `${field}: `}${message}`);
  const rest = problems.length - shown.length;
  return [
    `${subject} has ${problems.length === 1 ? 'a fault' : `${problems.length} faults`}:`,
    ...shown,
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ].join('\n');
}
