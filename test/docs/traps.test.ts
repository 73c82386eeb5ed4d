import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync(new URL('../../docs/traps.md', import.meta.url), 'utf8');

/** Rows of all tables, head lines aside, as their cells. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
const traps = rows.filter((cells) => cells.at(-1) !== 'Tests');

/** Of `file.test.ts`: “a name”, “another”; `test/folder/file.test.ts`: “a name”. */
function testsNamedIn(cell: string): { readonly file: string; readonly names: readonly string[] }[] {
  return [...cell.matchAll(/`([^`]+\.test\.ts)`:((?:,?\s*“[^”]+”)+)/gu)].map(([, file = '', list = '']) => ({
    file: file.includes('/') ? file : `test/proxy/${file}`,
    names: [...list.matchAll(/“([^”]+)”/gu)].map(([, name = '']) => name),
  }));
}

/** Titles of tests and of groups: string literals that are followed by what is to be done. */
function titlesIn(file: string): readonly string[] {
  const url = new URL(`../../${file}`, import.meta.url);
  const text = existsSync(url) ? readFileSync(url, 'utf8') : '';
  return [...text.matchAll(/(?:\b(?:it|describe)|\))\(\s*'((?:[^'\\\n]|\\.)+)',/gu)].map(([, title = '']) => title);
}

describe('docs/traps.md', () => {
  it('has a test for each of its traps', () => {
    expect(traps.length).toBeGreaterThanOrEqual(31);
    expect(traps.filter((cells) => testsNamedIn(cells.at(-1) ?? '').length === 0)).toEqual([]);
  });

  it('names every test in the form that is checked', () => {
    const cells = traps.map((cell) => cell.at(-1) ?? '').join('; ');
    const checked = testsNamedIn(cells);

    expect(checked.flatMap(({ names }) => names)).toHaveLength([...cells.matchAll(/“/gu)].length);
    expect(checked).toHaveLength([...cells.matchAll(/\.test\.ts/gu)].length);
  });

  const named = new Map<string, Set<string>>();
  for (const { file, names } of traps.flatMap((cells) => testsNamedIn(cells.at(-1) ?? ''))) {
    named.set(file, new Set([...(named.get(file) ?? []), ...names]));
  }

  it.each([...named])('names tests that exist in %s', (file, names) => {
    const titles = titlesIn(file);

    expect([...names].filter((name) => !titles.includes(name))).toEqual([]);
  });
});
