import { expect, it } from 'vitest';
import { inputKind } from '../../src/batch/input-kind.ts';

it.each([
  ['{"metric": "topic_adherence"}\n{"labels": {}}', 'rows'],
  ['\uFEFF\n \n{"labels": {}}\n', 'suite'],
  ['{"labels": {}, "metric": "topic_adherence"}', undefined],
  ['{"messages": []}', undefined],
  ['metric', undefined],
  ['["labels"]', undefined],
  ['', undefined],
])('by its first line, %j is %s', (text, kind) => {
  expect(inputKind(text)).toBe(kind);
});
