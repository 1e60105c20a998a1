import { defineConfig } from 'vitest/config';
import FileOrder from './test/file-order.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['./test/setup.ts'],
    // Shared two-core machines stall for seconds; a slow run is not a failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'threads',
    // Two cores and one worker more: a third of the time, tests wait for processes and deadlines.
    maxWorkers: 3,
    sequence: { sequencer: FileOrder },
    // `npm run coverage`. Worker threads and child processes run from dist and are not counted.
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'workers/**/*.ts'],
      exclude: ['**/*.generated.ts', 'src/dashboard/client/**'],
      reporter: ['text-summary', 'html'],
    },
    reporters: ['default', './test/closing-line-reporter.ts'],
  },
});
