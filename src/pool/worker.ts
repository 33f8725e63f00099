/**
 * The entry point of a worker thread, which evaluates runs over its own database connections. If it
 * cannot evaluate a run it only reports why; the pass decides what to do with the run.
 */
import { setPriority } from 'node:os';
import { workerData } from 'piscina';

import { createDatabase } from '../db/database.ts';
import { createPatternCompiler } from '../engine/matcher/pattern.ts';
import { createFastMatcher } from '../engine/prefilter/fast-matcher.ts';
import { evaluateTask, type Workshop } from './evaluate-task.ts';
import { createFlow, Mutex, SliceScheduler } from './slice-scheduler.ts';
import {
  CONNECTIONS_PER_THREAD,
  type EvaluateTask,
  type TaskOutcome,
  type WorkerSettings,
} from './tasks.ts';
import { createThreadClock, ThreadPulse } from './thread-cpu.ts';

/** `nice`: where cores are short, taking requests in goes first. */
const PRIORITY = 10;
/** Quick tasks together get three times the CPU time of a long run. */
const QUICK_WEIGHT = 3;

/**
 * A task waits this long for a connection: longer than the statement of another task may take (32 s),
 * which is no reason to take the database for away.
 */
const CONNECTION_WAIT_MS = 35_000;

/** What a thread is given when it starts. */
export interface WorkerData {
  readonly settings: WorkerSettings;
  /** memory of the `ThreadPulse` */
  readonly pulse: SharedArrayBuffer;
}

let workshop: Workshop | null = null;

/** Made at the first run and kept: compiled patterns are what makes the next run fast. */
function workshopOf({ settings, pulse }: WorkerData): Workshop {
  if (workshop !== null) return workshop;
  stepBack();
  workshop = {
    // A lost idle connection needs no words here: the next query makes a new one or fails and says
    // so.
    database: createDatabase(
      settings.databaseUrl,
      CONNECTIONS_PER_THREAD,
      { connectionLost: () => {} },
      { waitMs: CONNECTION_WAIT_MS },
    ),
    matcher: createFastMatcher(settings.rules, createPatternCompiler(), settings.tables),
    scheduler: new SliceScheduler(),
    quick: createFlow(QUICK_WEIGHT),
    quickTasks: new Mutex(),
    cpuMs: createThreadClock(),
    pulse: new ThreadPulse(pulse),
    settings,
  };
  return workshop;
}

/** On Linux 0 is the calling thread; elsewhere it is the process, which must not step back. */
function stepBack(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, PRIORITY);
  } catch {
    // Not allowed here: the threads share the cores as equals.
  }
}

/** Evaluates runs and stores what was found; whoever asked settles what was not decided. */
export async function evaluate(task: EvaluateTask): Promise<TaskOutcome> {
  return await evaluateTask(task, workshopOf(workerData as WorkerData));
}
