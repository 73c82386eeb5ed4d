import { expect, it } from 'vitest';
import { between } from '../../bench/page.ts';

const PAGE = [
  '# Page',
  '<!-- bench one -->',
  'old',
  '<!-- /bench one -->',
  'words',
  '<!-- bench two -->',
  '<!-- /bench two -->',
].join('\n');

it('replaces what stands between the markers and nothing else', () => {
  expect(between(PAGE, 'one', 'new')).toBe(PAGE.replace('old', '\nnew\n'));
});

it('comes to the same page when the same is written again', () => {
  const once = between(PAGE, 'two', 'new');
  expect(between(once, 'two', 'new')).toBe(once);
});

it('names the markers that a page lacks', () => {
  expect(() => between(PAGE, 'three', 'new')).toThrow('<!-- bench three --> and <!-- /bench three -->');
});
