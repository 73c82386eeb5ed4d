import { styleText } from 'node:util';
import type { Conversation } from '../conversations.ts';
import { latest, type Result } from './results.ts';

/** One line a conversation: what was to be seen in it, what the judge made of it, and why. */
export function renderTable(
  conversations: readonly { readonly conversation: Conversation; readonly threadId: string }[],
  results: readonly Result[],
): string {
  const rows = conversations.map(({ conversation, threadId }) => {
    const goal = latest(results, threadId, 'agent_goal_accuracy');
    const topics = latest(results, threadId, 'topic_adherence');
    const waiting = conversation.expected.kind === 'waiting';
    return [threadId, conversation.shows, cell(goal, waiting), cell(topics, waiting), why(goal, topics, waiting)];
  });
  const table = [['conversation', 'what happens in it', 'goal', 'topics', 'reason'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length))) ?? [];
  const lines = table.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  // A terminal may not know its width: 0 columns. What is not a terminal gets whole lines.
  const width = (process.stdout.isTTY && process.stdout.columns) || Infinity;
  const [header = '', ...body] = lines.map((line) => cut(line, width));
  return [styleText('bold', header), ...body.map(paint)].join('\n');
}

function cell(result: Result | undefined, waiting: boolean): string {
  if (result === undefined) return waiting ? '–' : 'no result';
  if (result.value === undefined) return result.verdict === 'not_applicable' ? 'n/a' : result.verdict;
  return `${result.label} ${Number(result.value.toFixed(2))}`;
}

/** The reason that says most: that of what failed, else that of the goal. */
function why(goal: Result | undefined, topics: Result | undefined, waiting: boolean): string {
  if (waiting) return 'not judged: it waits for a person';
  const told = [goal, topics].find((result) => result?.label === 'fail') ?? goal ?? topics;
  return told?.reason ?? '';
}

function paint(line: string): string {
  if (/ fail \d| no result| failed /.test(line)) return styleText('yellow', line);
  return line;
}

const cut = (line: string, width: number): string => (line.length <= width ? line : `${line.slice(0, width - 1)}…`);
