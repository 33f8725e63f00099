/**
 * The worker threads: how they are started and bounded. The only file that uses Piscina's pool.
 *
 * Each thread is a pool of one, so that it is known which thread has which task. Piscina's abort signals are
 * not used: a thread with an abortable task gets no second one.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { loadManifest, verifyCorpus } from '../engine/corpus/corpus.ts';
import type { CatalogAnswer, CatalogRequest } from './catalog-process.ts';
import { type MatchingData, matchingKey, readMatching } from './matching-cache.ts';
import type { PreviewBatch } from './preview/preview-batch.ts';
import { inSharedMemory } from './shared-memory.ts';
import {
  type CatalogTask,
  type EvaluateTask,
  LONG_RUNS_PER_THREAD,
  PREVIEWS_PER_THREAD,
  type PreviewTask,
  TASKS_PER_THREAD,
  type TaskOutcome,
  type WorkerSettings,
} from './tasks.ts';
import { ThreadPulse } from './thread-cpu.ts';
import { Trails } from './trail.ts';
import type { WorkerData } from './worker.ts';

/** The built file, even when a test runs this file from source (decision 0003). */
const BUILT = new URL('../../dist/pool/', import.meta.url);
const CATALOG_PROCESS = fileURLToPath(new URL('catalog-process.js', BUILT));
const FILENAME = fileURLToPath(new URL('worker.js', BUILT));
/** The parent's arguments apply to its own thread only. */
const EXEC_ARGV: string[] = [];
/**
 * A run that needs more ends its worker thread and loses an attempt; the process survives.
 */
const WORKER_HEAP_MB = 2048;

/** Most tasks of a thread. */
const TASKS_MAX = TASKS_PER_THREAD + LONG_RUNS_PER_THREAD + PREVIEWS_PER_THREAD;
/** The spare thread ends after this long without a run. */
const SPARE_IDLE_MS = 60_000;

export interface MatchThread {
  /**
   * Evaluates a task; at most `TASKS_PER_THREAD` quick and `LONG_RUNS_PER_THREAD` long ones at a
   * time. Rejects when the thread ends during this or another of its tasks.
   */
  readonly evaluate: (task: EvaluateTask) => Promise<TaskOutcome>;
  /** Looks at a batch of a preview, behind all other tasks; one at a time. Rejects as `evaluate`. */
  readonly preview: (task: PreviewTask) => Promise<PreviewBatch>;
  /** Ends the thread, wherever it is, with all its tasks; another takes its place. */
  readonly end: () => void;
  /** CPU time of the current slice; a large value means that the thread is stuck. */
  readonly stalledMs: () => number;
}

export interface Workers {
  readonly threads: readonly MatchThread[];
  /** for runs that are evaluated alone, one at a time; created on demand */
  readonly spare: MatchThread;
  /** Ends the threads, wherever they are. */
  readonly close: () => Promise<void>;
}

/**
 * The catalogue with its prefilter tables in shared memory: from the file in `dataDir` when that was
 * kept by this build for this corpus, or else loaded and built in a separate process and kept there.
 * That process leaves this thread free, and the memory it takes is given back. Nothing evaluates without
 * this, so the corpus is verified here, whatever is kept.
 *
 * @throws what the engine throws: a tampered corpus, decisions about another one
 */
export async function prepareMatching(task: CatalogTask, dataDir: string): Promise<MatchingData> {
  verifyCorpus(task.packageDir, loadManifest(task.manifestPath));
  const kept = readMatching(dataDir, matchingKey(task.manifestPath));
  const { catalog, tables } = kept ?? (await askCatalogProcess({ ...task, keepIn: dataDir }));
  return { catalog, tables: inSharedMemory(tables) };
}

async function askCatalogProcess(request: CatalogRequest): Promise<MatchingData> {
  const child = fork(CATALOG_PROCESS, { execArgv: EXEC_ARGV, serialization: 'advanced' });
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the process that loads the catalogue ended with ${signal ?? code}`)),
    );
  });
  const answered = once(child, 'message') as Promise<[CatalogAnswer]>;
  child.send(request);
  const [answer] = await Promise.race([answered, ended]);
  if (answer.ok) return answer.matching;
  throw answer.error;
}

/** One thread and, when that is ended, the next. */
class Thread implements MatchThread {
  readonly #create: (pulse: SharedArrayBuffer) => Piscina;
  readonly #trails: Trails;
  readonly #ending = new Set<Promise<void>>();
  #pulse = ThreadPulse.createMemory();
  #pool: Piscina;

  constructor(create: (pulse: SharedArrayBuffer) => Piscina, trails: Trails) {
    this.#create = create;
    this.#trails = trails;
    this.#pool = create(this.#pulse);
  }

  evaluate = (task: EvaluateTask): Promise<TaskOutcome> =>
    this.#trails.follow(task, async (one) => {
      return (await this.#pool.run(one, { name: 'evaluate' })) as TaskOutcome;
    });

  preview = async (task: PreviewTask): Promise<PreviewBatch> =>
    (await this.#pool.run(task, { name: 'preview' })) as PreviewBatch;

  end = (): void => {
    this.#destroy();
    this.#pulse = ThreadPulse.createMemory();
    this.#pool = this.#create(this.#pulse);
  };

  stalledMs = (): number => new ThreadPulse(this.#pulse).stalledMs;

  async close(): Promise<void> {
    this.#destroy();
    await Promise.all(this.#ending);
  }

  #destroy(): void {
    const ending = this.#pool.destroy().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/**
 * @param count how many threads; each keeps its own compiled rules and database connections
 * @param onFault called when a thread dies while idle
 * @param heapMb for tests
 */
export function startWorkers(
  count: number,
  settings: WorkerSettings,
  onFault: (error: unknown) => void,
  heapMb: number = WORKER_HEAP_MB,
): Workers {
  const createPool = (minThreads: 0 | 1, pulse: SharedArrayBuffer): Piscina => {
    const pool = new Piscina({
      filename: FILENAME,
      execArgv: EXEC_ARGV,
      workerData: { settings, pulse } satisfies WorkerData,
      minThreads,
      maxThreads: 1,
      idleTimeout: SPARE_IDLE_MS,
      concurrentTasksPerWorker: TASKS_MAX,
      // The pass never submits more at a time; a further task is a bug and is rejected.
      maxQueue: TASKS_MAX,
      // With `Atomics.wait` a worker that waits for a task would block its database connections.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    pool.on('error', onFault);
    return pool;
  };
  const trails = new Trails();
  const create = (minThreads: 0 | 1) => new Thread(createPool.bind(null, minThreads), trails);
  const threads = Array.from({ length: count }, () => create(1));
  const spare = create(0);
  return {
    threads,
    spare,
    close: async () => {
      await Promise.all([...threads, spare].map((thread) => thread.close()));
    },
  };
}
