import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readScoreRows } from '../../src/batch/read-rows.ts';
import { METRICS } from '../../src/metrics/registry.ts';
import { readSuite } from '../../src/suite/read-suite.ts';

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const [rows = '', suite = ''] = [...page.matchAll(/^```jsonl\n(.*?)^```$/gmsu)].map(([, block]) => block);

describe('the examples of docs/metrics.md can be pasted as they are', () => {
  it('rows to score', () => {
    const unknown: string[] = [];
    expect(readScoreRows(rows, METRICS, (_, member) => unknown.push(member))).toMatchObject({ ok: true, rows: [{}] });
    expect(unknown).toEqual([]);
  });

  it('a labelled suite', () => {
    expect(readSuite(suite)).toMatchObject({ ok: true, rows: [{ id: 'k1', goal: 0 }] });
  });
});
