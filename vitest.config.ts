import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'tests', include: ['test/**/*.test.ts'] } },
      // The path that every response falls back to stands behind the same tests.
      {
        extends: true,
        test: { name: 'parsed responses', include: ['test/proxy/**/*.test.ts'], env: { PASS_THROUGH: 'false' } },
      },
    ],
  },
});
