import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

const OPTIONS = [
  '--max-semi-space-size=16',
  '--v8-pool-size=1',
  '--no-allocation-site-pretenuring',
  '--no-memory-reducer',
  '--no-parallel-scavenge',
];

/** Each of the ways in which the sidecar is started in earnest. */
const WAYS = [
  { way: 'npm start', file: 'package.json', command: `"start": "node ${OPTIONS.join(' ')} src/cli.ts serve"` },
  {
    way: 'the image',
    file: 'Dockerfile',
    command: `CMD ${JSON.stringify(['node', ...OPTIONS, 'src/cli.ts', 'serve']).replaceAll(',', ', ')}`,
  },
  {
    way: 'the README`s line for supervisors',
    file: 'README.md',
    command: `node ${OPTIONS.join(' ')} src/cli.ts serve`,
  },
];

describe('what keeps the garbage collector short and cheap', () => {
  it.each(WAYS)('is given to Node alike by $way', ({ file, command }) => {
    expect(text(file)).toContain(command);
  });
});
