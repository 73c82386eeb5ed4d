import { isJsonObject, parseJson } from '../lib/json.ts';

/** What a file for `score` is: rows to score, or a labelled suite. */
type InputKind = 'rows' | 'suite';

/**
 * What the first line of a file says it is, so that the one given for the other is answered with the remedy and not with
 * a fault for every member. Undefined where the line fits neither.
 */
export function inputKind(text: string): InputKind | undefined {
  const [first = ''] = /\S.*/.exec(text) ?? [];
  const row = parseJson(first);
  if (!isJsonObject(row)) return undefined;
  if (row.labels !== undefined) return row.metric === undefined ? 'suite' : undefined;
  return row.metric === undefined ? undefined : 'rows';
}
