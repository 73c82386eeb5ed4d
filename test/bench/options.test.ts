import { expect, it } from 'vitest';
import { readArguments } from '../../bench/options.ts';

it('writes to the page when nothing is left out or added', () => {
  expect(readArguments(['proxy']).isForPage).toBe(true);
});

it.each([[['--quick']], [['--only', 'bulk']], [['--against', '../elsewhere']], [['--with', 'A=b']]])(
  'does not write to the page with %j',
  (args) => {
    expect(readArguments(args).isForPage).toBe(false);
  },
);

it('takes a setting up to its first equals sign as the name', () => {
  expect(readArguments(['--with', 'AGENT_URL=http://host/?a=b']).options.other?.settings).toEqual({
    AGENT_URL: 'http://host/?a=b',
  });
});
