import { readFileSync } from 'node:fs';

/** The package's version, read from its manifest. */
export function packageVersion(): string {
  // The manifest is as far from src/lib as it is from dist/lib.
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json has no version');
}
