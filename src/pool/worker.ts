/**
 * The entry point of a worker thread, which evaluates runs over its own database connections. If it
 * cannot evaluate a run it only reports why; the pass decides what to do with the run.
 */
import '../stack-traces.ts';

import { setPriority } from 'node:os';
import pLimit from 'p-limit';
import { workerData } from 'piscina';

import { createDatabase, type Database } from '../db/database.ts';
import { createPatternCompiler } from '../engine/matcher/pattern.ts';
import { createFastMatcher } from '../engine/prefilter/fast-matcher.ts';
import { evaluateTask, type TaskContext } from './evaluate-task.ts';
import { type PreviewBatch, previewRuns } from './preview/preview-batch.ts';
import { PreviewMatchers } from './preview/preview-matchers.ts';
import { RuleMeter } from './rule-meter.ts';
import { createFlow, type Flow, SliceScheduler, workInSlices } from './slice-scheduler.ts';
import {
  CONNECTIONS_PER_THREAD,
  type EvaluateTask,
  type PreviewTask,
  type TaskOutcome,
  type WorkerSettings,
} from './tasks.ts';
import { createThreadClock, ThreadPulse } from './thread-cpu.ts';

/** `nice` value: on a busy machine, ingest goes first. */
const PRIORITY = 10;
/** Quick tasks together get three times the CPU time of a long run. */
const QUICK_WEIGHT = 3;
/** A preview gets a tenth of the CPU time of a long run while there is one. */
const PREVIEW_WEIGHT = 0.1;

/**
 * A task waits this long for a connection: longer than the statement of another task may take
 * (32 s), which must not look like an outage.
 */
const CONNECTION_WAIT_MS = 35_000;

export interface WorkerData {
  readonly settings: WorkerSettings;
  /** memory of the `ThreadPulse` */
  readonly pulse: SharedArrayBuffer;
}

/** Additional state for batches of previews. */
interface PreviewContext {
  readonly flow: Flow;
  /** opened by the first batch that reads it */
  readonly replica: Database | null;
  readonly matchers: PreviewMatchers;
}

let context: (TaskContext & { readonly previews: PreviewContext }) | null = null;

/** Created at the first task and kept, because compiling patterns is slow. */
function contextOf({ settings, pulse }: WorkerData): NonNullable<typeof context> {
  if (context !== null) return context;
  lowerPriority();
  const compile = createPatternCompiler();
  const matcher = createFastMatcher(settings.rules, compile, settings.tables);
  const { readUrl } = settings;
  context = {
    // A lost idle connection is not logged: the next query opens a new one, or fails and is logged.
    database: createDatabase(
      settings.databaseUrl,
      CONNECTIONS_PER_THREAD,
      { connectionLost: () => {} },
      { waitMs: CONNECTION_WAIT_MS },
    ),
    matcher,
    scheduler: new SliceScheduler(),
    quick: createFlow(QUICK_WEIGHT),
    quickTasks: pLimit(1),
    cpuMs: createThreadClock(),
    pulse: new ThreadPulse(pulse),
    settings,
    meter: new RuleMeter(),
    previews: {
      flow: createFlow(PREVIEW_WEIGHT),
      replica: readUrl === null ? null : createDatabase(readUrl, 1, { connectionLost: () => {} }),
      matchers: new PreviewMatchers(matcher, compile),
    },
  };
  return context;
}

/** On Linux 0 means the calling thread; elsewhere the whole process, which keeps its priority. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, PRIORITY);
  } catch {
    // Not permitted here: all threads have the same priority.
  }
}

/** Evaluates runs and stores their findings; the caller handles undecided runs. */
export async function evaluate(task: EvaluateTask): Promise<TaskOutcome> {
  return await evaluateTask(task, contextOf(workerData as WorkerData));
}

/** Matches runs for a preview; nothing is stored. Rejects with the database's error. */
export async function preview({ runs, ruleIds, fromReplica }: PreviewTask): Promise<PreviewBatch> {
  const own = contextOf(workerData as WorkerData);
  const { flow, matchers, replica } = own.previews;
  const { matcher, enabled } = matchers.of(ruleIds);
  return await previewRuns(runs, enabled, {
    ...own,
    database: fromReplica && replica !== null ? replica : own.database,
    matcher,
    work: (evaluation, cpuMaxMs) => workInSlices(evaluation, flow, cpuMaxMs, own),
  });
}
