import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{otlp,ingest,engine,observe,cli,main,web,bench}/**/*.test.ts',
            'test/*.test.ts',
          ],
          globalSetup: ['test/support/global-build.ts'],
          testTimeout: 120_000,
        },
      },
      {
        test: { name: 'arch', include: ['test/arch/**/*.test.ts'], testTimeout: 120_000 },
      },
      {
        test: {
          name: 'database',
          globalSetup: ['test/support/global-build.ts', 'test/support/global-database.ts'],
          include: ['test/{db,pool,http}/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: ['test/support/global-build.ts', 'test/support/global-database.ts'],
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
