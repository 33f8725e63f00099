import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const BUILD = 'test/support/global-build.ts';
const DATABASE = 'test/support/global-database.ts';
const SERVER = 'test/support/global-server.ts';
const SETUP = ['test/support/setup.ts'];
const SUMMARY = './test/support/run-summary.ts';

/**
 * More than the cores of a small machine, because files of end-to-end tests also wait; at most as
 * many as have servers on the run's PostgreSQL without using up its connections.
 */
const WORKERS = Math.min(6, Math.max(5, availableParallelism()));

/** Every case instead of a sample takes longer. */
const EXHAUSTIVE_FACTOR = process.env.EXHAUSTIVE === '1' ? 5 : 1;

/** The statements, on a Citus cluster. Alone: `npx vitest run --project citus`. */
const CITUS = {
  test: {
    name: 'citus',
    globalSetup: [BUILD, 'test/support/citus.ts', SERVER],
    include: [
      'test/citus/**/*.test.ts',
      'test/{db/runs,reads}/*.test.ts',
      'test/db/telemetry/{copy-transaction,copy-writer,round-trip,receipts,long-documents}.test.ts',
      'test/e2e/{runs,log-only-runs,long-runs,pooler}.test.ts',
    ],
    isolate: false,
    setupFiles: SETUP,
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
};
const CITUS_PROJECTS = process.env.CITUS_DATABASE_URL === undefined ? [] : [CITUS];

/** The order of projects: what waits is begun first, so that the others fill the time. */
const PROJECTS = ['e2e', 'database', 'unit', 'arch'];
/** Files that wait or last longest: begun before all others. */
const WAITING = [
  'stop-hung-database',
  'cli-manners',
  'take-over',
  'worst-requests',
  'built-program',
];

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waits = WAITING.map((name) => `/${name}.test.ts`);
    const rankOf = ({ project, moduleId }: TestSpecification): number =>
      PROJECTS.indexOf(project.name) - Number(waits.some((end) => moduleId.endsWith(end)));
    // The longest of the last run come first within a project.
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other));
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
            'test/{alerts,config,deploy,evidence,otlp,ingest,engine,observe,cli,main,web,bench,model,relay}/**/*.test.ts',
            'test/{mutants,terminal}/**/*.test.ts',
            'test/*.test.ts',
          ],
          globalSetup: [BUILD],
          // A new worker for each file would load the same modules a hundred times.
          isolate: false,
          setupFiles: SETUP,
          testTimeout: EXHAUSTIVE_FACTOR * 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'arch',
          include: ['test/arch/**/*.test.ts'],
          setupFiles: SETUP,
          isolate: false,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'database',
          globalSetup: [BUILD, DATABASE],
          include: ['test/{db,reads,pool,http,chaos}/**/*.test.ts'],
          setupFiles: SETUP,
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      ...CITUS_PROJECTS,
      {
        test: {
          name: 'e2e',
          globalSetup: [BUILD, DATABASE, SERVER],
          include: ['test/e2e/**/*.test.ts'],
          setupFiles: SETUP,
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
