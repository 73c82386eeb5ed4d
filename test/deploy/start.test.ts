import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

const SIZE = '--max-semi-space-size=16';

/** Each of the ways in which the sidecar is started in earnest. */
const WAYS = [
  { way: 'npm start', file: 'package.json', command: `"start": "node ${SIZE} src/cli.ts serve"` },
  { way: 'the image', file: 'Dockerfile', command: `CMD ["node", "${SIZE}", "src/cli.ts", "serve"]` },
  { way: 'the README`s line for supervisors', file: 'README.md', command: `node ${SIZE} src/cli.ts serve` },
];

describe('the young generation of the heap', () => {
  it.each(WAYS)('is bounded alike by $way', ({ file, command }) => {
    expect(text(file)).toContain(command);
  });
});
