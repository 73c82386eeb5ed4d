import { expect, it } from 'vitest';
import { tryQuietly } from '../../src/lib/quiet-error.ts';

it('gives what the work gives', () => {
  expect(
    tryQuietly(
      () => 'done',
      () => 'failed',
    ),
  ).toBe('done');
});

it('hands over an error without a stack, and lets others have theirs', () => {
  const frames = (error: unknown): number => (error as Error).stack?.match(/^ +at /gm)?.length ?? 0;
  const fail = (): number => {
    throw new Error('no such harbour');
  };

  expect(tryQuietly(fail, frames)).toBe(0);
  expect(frames(new Error('another'))).toBeGreaterThan(0);
});
