import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const BUILD = 'test/support/global-build.ts';
const CATALOGUE = 'test/support/global-catalogue.ts';
const DATABASE = 'test/support/global-database.ts';
const SUMMARY = './test/support/run-summary.ts';

/** Both cores of a small machine; Vitest would leave one idle. */
const WORKERS = Math.max(2, availableParallelism() - 1);

/** Files of end-to-end tests that are to have the machine to themselves: they measure time. */
const ALONE = ['fairness', 'http-threads', 'limits', 'loop-delay'].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** A file that mostly waits: begun first, so that the others run beside it. */
const WAITING = 'stop-hung-database.test.ts';

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isWaiting = ({ moduleId }: TestSpecification) => Number(moduleId.endsWith(WAITING));
    return (await super.sort(files)).sort((one, other) => isWaiting(other) - isWaiting(one));
  }
}

export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    sequence: { sequencer: WaitingFirst },
    reporters: ['default', SUMMARY],
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{otlp,ingest,engine,observe,cli,main,web,bench,model}/**/*.test.ts',
            'test/*.test.ts',
          ],
          globalSetup: [BUILD, CATALOGUE],
          // A new worker for each file would load the same modules a hundred times.
          isolate: false,
          setupFiles: ['test/support/fixed-seed.ts'],
          testTimeout: 120_000,
        },
      },
      {
        test: { name: 'arch', include: ['test/arch/**/*.test.ts'], testTimeout: 120_000 },
      },
      {
        test: {
          name: 'database',
          globalSetup: [BUILD, CATALOGUE, DATABASE],
          include: ['test/{db,pool,http,chaos}/**/*.test.ts'],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: [BUILD, CATALOGUE, DATABASE],
          include: ['test/e2e/**/*.test.ts'],
          exclude: ALONE,
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e-alone',
          globalSetup: [BUILD, CATALOGUE, DATABASE],
          include: ALONE,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
