/**
 * One task in a worker: its runs read in one query, matched one by one, stored in one statement.
 * Several tasks are under way in a thread; one of them matches, the others wait for the database or
 * for their turn:
 *
 *   task 1   read ▒▒▒ match ██████ store ▒▒
 *   task 2        read ▒▒▒ ······· match ██████ store ▒▒
 *   task 3                              read ▒▒▒ ······· match ██████
 */
import { setImmediate as othersTurn } from 'node:timers/promises';

import { completeRuns, type Evaluation } from '../db/complete-runs.ts';
import { type Database, ping } from '../db/database.ts';
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import { isOutage } from '../db/outage.ts';
import { readStepsOfRuns, type StepsOfRun } from '../db/steps.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import type { Matcher } from '../engine/matcher.ts';
import { runFactsOf } from '../engine/run-facts.ts';
import { reasonOf, shortReason } from './reason.ts';
import type {
  EvaluateTask,
  RunOutcome,
  TaskOutcome,
  WorkerSettings,
  WorkspaceRules,
} from './tasks.ts';

type Undecided = Extract<RunOutcome, { kind: 'undecided' }>;
type Decided = { readonly kind: 'decided'; readonly evaluation: Evaluation };

/** Who matches next: one at a time, in the order of asking. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns what `work` returns, once all before it are done; rejects when `work` does */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    // Who comes next need not know how this ended.
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** What the tasks of a thread share. */
export interface Workshop {
  readonly database: Database;
  readonly matcher: Matcher;
  readonly matching: Turns;
  readonly settings: WorkerSettings;
}

/** The database did not even take a question; `cause` says why. */
class Unreachable extends Error {}

/** Asked first, so that a database that is away is told from runs that cannot be read or stored. */
async function reach(database: Database): Promise<void> {
  await ping(database).catch((cause: unknown) => {
    throw new Unreachable(reasonOf(cause), { cause });
  });
}

/** Evaluates a task; whoever asked settles what was not decided. */
export async function evaluateTask(task: EvaluateTask, workshop: Workshop): Promise<TaskOutcome> {
  const { database, matching } = workshop;
  try {
    await reach(database);
    const read = await readStepsOfRuns(database, task.runs);
    const judged = await matching.take(() => judgeAll(read, task, workshop));
    return { kind: 'done', runs: await store(judged, workshop) };
  } catch (error) {
    if (error instanceof Unreachable) return { kind: 'unreachable', why: error.message };
    return { kind: isOutage(error) ? 'unreachable' : 'failed', why: reasonOf(error) };
  }
}

async function judgeAll(
  read: readonly StepsOfRun[],
  { runs, workspaces }: EvaluateTask,
  workshop: Workshop,
): Promise<(Decided | Undecided)[]> {
  const judged: (Decided | Undecided)[] = [];
  for (const [index, steps] of read.entries()) {
    const run = runs[index];
    const rules = run === undefined ? undefined : workspaces.get(run.workspaceId);
    if (run === undefined || rules === undefined) throw new RangeError('a run without rules');
    judged.push(judge(run, steps, rules, workshop));
    // The other tasks' answers are taken in and their next questions sent meanwhile.
    await othersTurn();
  }
  return judged;
}

/** What the rules say of one run; that they fail over it is its own affair. */
function judge(
  run: ClaimedRun,
  { steps, unread }: StepsOfRun,
  { mask, ruleSetSha256, redactExcerpts }: WorkspaceRules,
  { matcher, settings }: Workshop,
): Decided | Undecided {
  try {
    const enabled = (ruleIndex: number): boolean => mask[ruleIndex] === 1;
    const result = evaluateRun(steps, matcher, enabled, settings);
    const { findings, undecided, surfaces, truncated, kinds } = result;
    const [first] = undecided;
    if (first !== undefined) {
      const why = `${undecided.length} rules undecided, first ${first.ruleId}: ${first.message}`;
      return { kind: 'undecided', why: shortReason(why) };
    }
    const evaluation = {
      run,
      facts: runFactsOf(steps, kinds, run.state),
      findings,
      redactExcerpts,
      ruleSetSha256,
      steps: steps.length + unread,
      unreadSteps: unread,
      texts: surfaces,
      truncatedTexts: truncated,
    };
    return { kind: 'decided', evaluation };
  } catch (error) {
    return { kind: 'undecided', why: reasonOf(error) };
  }
}

async function store(
  judged: readonly (Decided | Undecided)[],
  { database, settings }: Workshop,
): Promise<RunOutcome[]> {
  const decided = judged.flatMap((one) => (one.kind === 'decided' ? [one.evaluation] : []));
  if (decided.length === 0) return judged.filter((one) => one.kind === 'undecided');
  await reach(database);
  const stored = await completeRuns(database, decided, settings.snapshot.version);
  const answers = decided.map(({ texts }, index): RunOutcome => {
    const findings = stored[index] ?? null;
    return findings === null ? { kind: 'lost' } : { kind: 'evaluated', findings, texts };
  });
  let next = 0;
  return judged.map((one) =>
    one.kind === 'undecided' ? one : (answers[next++] ?? { kind: 'lost' }),
  );
}
