import { expect, it } from 'vitest';
import { readArguments, requireOne, UsageError } from '../../bench/options.ts';

it('writes to the page when nothing is left out or added', () => {
  expect(readArguments(['proxy']).isForPage).toBe(true);
});

it.each([[['--quick']], [['proxy', '--only', 'bulk']], [['--against', '../elsewhere']], [['--with', 'A=b']]])(
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

it('takes a setting that is empty', () => {
  expect(readArguments(['--with', 'AGENT_URL=']).options.other?.settings).toEqual({ AGENT_URL: '' });
});

it.each(['PASS_THROUGH', '=false', ''])('refuses --with %j, which sets nothing, and says what it expects', (pair) => {
  expect(() => readArguments([`--with=${pair}`])).toThrow(
    new TypeError(`--with "${pair}" is no SETTING=VALUE. Give both, such as --with PASS_THROUGH=false.`),
  );
});

it.each([[['--only', 'paced']], [['proxy', 'isolation', '--only', 'paced']]])(
  'refuses %j before anything runs: a part is of one benchmark',
  (args) => {
    expect(() => readArguments(args)).toThrow('Name that one, such as: proxy --only paced.');
  },
);

it('refuses --only what there is none of, and says what there is', () => {
  const takes = (only: string | undefined) => () => requireOne(only, ['paced', 'bulk'], (name) => name === only);
  expect(takes('bulk')).not.toThrow();
  expect(takes(undefined)).not.toThrow();
  expect(takes('nonsense')).toThrow(new UsageError('--only "nonsense" is none of: paced, bulk.'));
});
