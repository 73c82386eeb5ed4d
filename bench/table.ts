import type { Spread } from './statistics.ts';

/** A Markdown table whose columns line up, so that it also reads on a terminal. The first column is left-aligned. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, ...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => cell.length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((each, column) => pad(cells[column] ?? '', each, column === 0)).join(' | ')} |`;
  const rule = widths.map((each, column) => (column === 0 ? '-'.repeat(each + 2) : `${'-'.repeat(each + 1)}:`));
  return [line(head), `|${rule.join('|')}|`, ...rows.map(line)].join('\n');
}

const pad = (text: string, to: number, left: boolean): string => (left ? text.padEnd(to) : text.padStart(to));

/** A median with its interval in brackets; empty when nothing was measured. */
export function withSpread({ median, low, high, count }: Spread, text: (value: number) => string): string {
  if (count === 0) return '';
  return count === 1 ? text(median) : `${text(median)} (${text(low)}–${text(high)})`;
}
