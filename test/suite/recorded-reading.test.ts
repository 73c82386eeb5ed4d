import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { score } from '../../src/commands/score.ts';
import { runCommand } from '../support/run-command.ts';

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));

// Prompts are product text: one that changed has not been read yet. Whoever changes one puts it before readers again and
// replaces the answers, as docs/judge-validation.md says.
it('the recorded reading answers the prompts as they are, and agrees with the labels as documented', async () => {
  const answers = await mkdtemp(join(tmpdir(), 'agui-reading-'));
  onTestFinished(() => rm(answers, { recursive: true }));
  await cp(path('docs/judge-validation'), answers, { recursive: true });

  const run = await runCommand(score, [
    '--suite',
    path('examples/judge-suite.jsonl'),
    '--judge-dir',
    answers,
    '--json',
  ]);

  expect(run.status).toBe(0);
  const report = JSON.parse(run.stdout);
  expect(report).toMatchObject({ rows: 36, judgeCalls: 102, goal: { n: 36, accuracy: { hits: 36, n: 36 } } });
  expect(report).toMatchObject({ topics: { pairs: 51, missed: [], invented: [] } });
});
