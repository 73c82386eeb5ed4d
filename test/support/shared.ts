import { existsSync } from 'node:fs';

/** Fixtures that stand beside the project on some machines; tests that want them are skipped elsewhere. */
export const SHARED_FIXTURES = new URL('../../../shared/fixtures/', import.meta.url);

export const hasSharedFixtures = existsSync(SHARED_FIXTURES);
