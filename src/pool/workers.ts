/**
 * The worker threads: how they are started and bounded. The only file that knows Piscina's options.
 */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

import type { Catalog } from '../engine/catalog.ts';
import type { CatalogTask, EvaluateOutcome, EvaluateTask, WorkerSettings } from './tasks.ts';

const FILENAME = fileURLToPath(new URL('worker-entry.js', import.meta.url));
/** Nothing of the parent's: worker-entry.js brings its own loader. */
const EXEC_ARGV: string[] = [];
/**
 * A run that needs more than this ends its worker and costs the run an attempt, not the process.
 */
const WORKER_HEAP_MB = 2048;

/** A check of the corpus never overlaps the one before. */
const CHECKS_QUEUED_MAX = 1;

export interface Workers {
  readonly threads: number;
  /**
   * Rejects when the worker died over the run. Aborting ends the worker, wherever it is; another
   * takes its place.
   */
  readonly evaluate: (task: EvaluateTask, signal: AbortSignal) => Promise<EvaluateOutcome>;
  /** Rejects when the corpus on disk is no longer the pinned one. */
  readonly checkCorpus: (task: CatalogTask) => Promise<void>;
  /** Ends the threads, wherever they are. */
  readonly close: () => Promise<void>;
}

/**
 * Builds the catalogue on a thread of its own, so that the caller's stays free.
 *
 * @throws what the engine throws: a tampered corpus, two files with one id
 */
export async function buildCatalog(task: CatalogTask): Promise<Catalog> {
  const pool = new Piscina({ filename: FILENAME, execArgv: EXEC_ARGV, maxThreads: 1 });
  // A thread that dies also rejects its task, which is where it is told.
  pool.on('error', () => {});
  try {
    return (await pool.run(task, { name: 'buildCatalog' })) as Catalog;
  } finally {
    await pool.destroy();
  }
}

/**
 * @param threads how many; each keeps its own compiled rules and one database connection
 * @param onFault told of threads that died
 */
export function startWorkers(
  threads: number,
  settings: WorkerSettings,
  onFault: (error: unknown) => void,
): Workers {
  const pool = new Piscina({
    filename: FILENAME,
    execArgv: EXEC_ARGV,
    workerData: settings,
    minThreads: threads,
    maxThreads: threads,
    // The pass asks for one run per thread at a time. More is a mistake of ours and rejects.
    maxQueue: threads + CHECKS_QUEUED_MAX,
    // Asynchronous work (the database) must go on while a worker waits for its next task.
    atomics: 'disabled',
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
  });
  pool.on('error', onFault);
  return {
    threads,
    evaluate: async (task, signal) =>
      (await pool.run(task, { name: 'evaluate', signal })) as EvaluateOutcome,
    checkCorpus: async (task) => {
      await pool.run(task, { name: 'checkCorpus' });
    },
    close: async () => {
      await pool.destroy();
    },
  };
}
