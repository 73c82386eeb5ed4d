import { readFile, writeFile } from 'node:fs/promises';

const PAGE = new URL('../docs/performance.md', import.meta.url);

/** Writes what a benchmark found into its place on the page of figures. */
export async function writeToPage(name: string, text: string): Promise<void> {
  await writeFile(PAGE, between(await readFile(PAGE, 'utf8'), name, text));
}

/**
 * The page with `text` between the markers of `name`.
 *
 * @throws when the page lacks them.
 */
export function between(page: string, name: string, text: string): string {
  const begin = `<!-- bench ${name} -->`;
  const end = `<!-- /bench ${name} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) {
    throw new Error(`docs/performance.md has no place for "${name}". Put ${begin} and ${end} where it belongs.`);
  }
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
