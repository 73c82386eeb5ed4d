import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AGENT_SETTINGS, LIST_SETTINGS, SETTINGS } from '../../src/config/schema.ts';
import { settingsTable } from '../../src/config/table.ts';

const DOCUMENT = '../../docs/configuration.md';
const TABLE = /(<!-- This table is generated [^\n]*-->\n)[^]*?(<!-- \/settings -->)/;

describe('the table of settings', () => {
  it('names every setting with its environment name', () => {
    const table = settingsTable();
    const all = { ...SETTINGS, ...LIST_SETTINGS };
    const keys = [...Object.keys(all), ...Object.keys(AGENT_SETTINGS).map((key) => `agents[].${key}`)];
    expect(keys.filter((key) => !table.includes(`| \`${key}\` |`))).toEqual([]);
    expect(Object.values(all).filter(({ env }) => !table.includes(`| \`${env}\` |`))).toEqual([]);
  });

  it('stands in docs/configuration.md; when this fails, run: npx vitest run test/config/table.test.ts -u', async () => {
    const document = readFileSync(new URL(DOCUMENT, import.meta.url), 'utf8');
    expect(document).toMatch(TABLE);
    const current = document.replace(
      TABLE,
      (_, begin: string, end: string) => `${begin}\n${settingsTable()}\n\n${end}`,
    );
    await expect(current).toMatchFileSnapshot(DOCUMENT);
  });
});
