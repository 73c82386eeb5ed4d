import type { z } from 'zod';
import { MessageFormatError } from '../conversation/message-fields.ts';
import type { Message } from '../conversation/message.ts';
import { readMessages } from '../conversation/read-messages.ts';
import { readJsonLines, type LineProblem, type RowsReading } from '../lib/json-lines.ts';
import { describeJson, isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { Metric, MetricParams } from '../metrics/metric.ts';

/** One conversation to be judged by one metric, everything about it validated. */
export interface ScoreRow {
  readonly id: string;
  readonly metric: Metric;
  readonly params: MetricParams;
  readonly messages: readonly Message[];
  readonly reference?: string;
}

/** Names under which Ragas' users know our metrics. */
const ALIASES: Readonly<Record<string, string>> = { agent_goal_accuracy_without_reference: 'agent_goal_accuracy' };

/** Members of a row that metrics of later versions read. */
const OTHER_MEMBERS = ['reference_tool_calls', 'response'] as const;

const MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'metric',
  'params',
  'messages',
  'user_input',
  'reference',
  ...OTHER_MEMBERS,
]);

/**
 * Reads the rows of `agui-sidecar score`, JSON lines as docs/metrics.md describes them.
 *
 * @param onUnknownMember told of each member that no metric reads, so that a misspelt one does not vanish silently.
 */
export function readScoreRows(
  text: string,
  metrics: readonly Metric[],
  onUnknownMember: (line: number, member: string) => void,
): RowsReading<ScoreRow> {
  return readJsonLines(text, (value, line) => {
    for (const member of Object.keys(value)) if (!MEMBERS.has(member)) onUnknownMember(line, member);
    const problems: Omit<LineProblem, 'line'>[] = [];
    const report = (field: string, message: string): void => void problems.push({ field, message });

    const id = readId(value.id, line, report);
    const metric = readMetric(value.metric, metrics, report);
    if (metric === undefined) return { ok: false, problems };
    const params = readParams(value.params, metric, report);
    const messages = readConversation(value, metric, report);
    const reference = readReference(value.reference, metric, report);
    if (problems.length > 0 || params === undefined || messages === undefined) return { ok: false, problems };
    return { ok: true, row: { id, metric, params, messages, ...(reference === undefined ? {} : { reference }) } };
  });
}

type Report = (field: string, message: string) => void;

function readId(given: JsonValue | undefined, line: number, report: Report): string {
  if (given === undefined || given === null) return String(line);
  if (typeof given === 'string') return given;
  report('id', `given ${describeJson(given)}, expected text`);
  return '';
}

function readMetric(given: JsonValue | undefined, metrics: readonly Metric[], report: Report): Metric | undefined {
  const name = typeof given === 'string' ? (ALIASES[given] ?? given) : undefined;
  const metric = metrics.find((candidate) => candidate.name === name);
  if (metric === undefined) {
    report('metric', `given ${describeJson(given)}, expected one of ${metrics.map((known) => known.name).join(', ')}`);
  }
  return metric;
}

function readParams(given: JsonValue | undefined, metric: Metric, report: Report): MetricParams | undefined {
  const parsed = metric.params.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    for (const { path, message } of explain(issue)) {
      const at = ['params', ...path].map((key, place) =>
        typeof key === 'number' ? `[${key}]` : `${place > 0 ? '.' : ''}${String(key)}`,
      );
      report(at.join(''), `given ${describeJson(valueAt(given, path))}, ${message}`);
    }
  }
  return undefined;
}

function explain(issue: z.core.$ZodIssue): readonly { path: readonly PropertyKey[]; message: string }[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...issue.path, key], message: 'but the metric has no such parameter' }));
    case 'invalid_value':
      return [{ path: issue.path, message: `expected one of ${issue.values.map(String).join(', ')}` }];
    case 'invalid_type':
      return [{ path: issue.path, message: `expected ${NAMES_OF_TYPES[issue.expected] ?? issue.expected}` }];
    case 'too_small':
      if (issue.origin === 'array')
        return [{ path: issue.path, message: `expected at least ${issue.minimum} of them` }];
      return [{ path: issue.path, message: issue.message }];
    default:
      return [{ path: issue.path, message: issue.message }];
  }
}

const NAMES_OF_TYPES: Readonly<Record<string, string>> = { array: 'a list', string: 'text', number: 'a number' };

function valueAt(given: JsonValue | undefined, path: readonly PropertyKey[]): JsonValue | undefined {
  let value = given;
  for (const key of path) value = memberOf(value, key);
  return value;
}

function memberOf(value: JsonValue | undefined, key: PropertyKey): JsonValue | undefined {
  if (isJsonObject(value)) return value[String(key)];
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return items[Number(key)];
}

/** A list under `user_input` is a conversation too: data sets of Ragas have it there. */
function readConversation(row: JsonObject, metric: Metric, report: Report): readonly Message[] | undefined {
  const field = row.messages === undefined && row.user_input !== undefined ? 'user_input' : 'messages';
  const given = row[field];
  if (!Array.isArray(given)) {
    report(
      field,
      `given ${describeJson(given)}, but ${metric.name} judges a conversation: expected a list of messages`,
    );
    return undefined;
  }
  try {
    return readMessages(given, field);
  } catch (error) {
    if (!(error instanceof MessageFormatError)) throw error;
    const [at, message] = splitPlace(error.message);
    report(at, message);
    return undefined;
  }
}

/** `messages[3].role: given …` in its two parts. */
function splitPlace(message: string): readonly [string, string] {
  const colon = message.indexOf(': ');
  return [message.slice(0, colon), message.slice(colon + 2)];
}

function readReference(given: JsonValue | undefined, metric: Metric, report: Report): string | undefined {
  const needed = metric.needs.includes('reference');
  if (typeof given === 'string' && given !== '') return given;
  const absent = given === undefined || given === null || given === '';
  if (needed) report('reference', `given ${describeJson(given)}, but ${metric.name} compares with it: expected text`);
  else if (!absent) report('reference', `given ${describeJson(given)}, expected text`);
  return undefined;
}
