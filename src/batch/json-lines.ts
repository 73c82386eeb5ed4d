import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';

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

const SHOWN_PROBLEMS = 20;

/** One problem a line, for the person who has to mend the input. */
export function formatLineProblems(source: string, problems: readonly LineProblem[]): string {
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ line, field, message }) => `  line ${line}: ${field === '' ? '' : `${field}: `}${message}`);
  const rest = problems.length - shown.length;
  return [
    `${source}: nothing was scored, since the input has ${problems.length === 1 ? 'a fault' : `${problems.length} faults`}:`,
    ...shown,
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ].join('\n');
}

/** A value in an error message: short, and recognisable. */
export function describeJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (isJsonObject(value)) return 'an object';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
