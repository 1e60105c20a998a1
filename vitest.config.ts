import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['./test/setup.ts'],
    // Shared two-core machines stall for seconds; a slow run is not a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'threads',
    maxWorkers: 2,
    reporters: ['default', './test/closing-line-reporter.ts'],
  },
});
