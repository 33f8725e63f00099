/**
 * One batch of a preview: its runs are read in one query and matched one by one; counted are the runs
 * that each rule matches, with a few places. Writes nothing.
 */
import type { Database } from '../../db/database.ts';
import type { RunToRead } from '../../db/runs/run-to-read.ts';
import { RunEvaluation } from '../../engine/evaluate.ts';
import type { Matcher } from '../../engine/matcher/matcher.ts';
import {
  addTallies,
  EMPTY_TALLY,
  type PreviewTally,
  type RuleTally,
} from '../../model/previews.ts';
import type { StepsOfRun } from '../../reads/run-reading.ts';
import { isUnreadable, readStepsOfRuns, TOGETHER_BYTES_MAX } from '../../reads/steps-of-runs.ts';

/** Most CPU time of a run in a preview; after that its matches so far count. */
const PREVIEW_RUN_CPU_MS = 1000;

/** CPU time of a batch, after which it ends with the run at hand: other workspaces' previews wait. */
const BATCH_CPU_MS = 1000;

/** The part of a batch that was done. */
export interface PreviewBatch {
  /** the first runs, at least one; the others did not fit beside them, or took too long */
  readonly runs: number;
  readonly tally: PreviewTally;
  /** of the thread while it matched: less CPU time than time says that others want the core */
  readonly thread: { readonly cpuMs: number; readonly wallMs: number };
}

export interface PreviewBatchDependencies {
  readonly database: Database;
  readonly matcher: Matcher;
  readonly settings: { readonly surfaceCapBytes: number; readonly excerptChars: number };
  readonly cpuMs: () => number;
  /** works until the evaluation is done or has used up this CPU time; says whether it is done */
  readonly work: (evaluation: Pick<RunEvaluation, 'work'>, cpuMaxMs: number) => Promise<boolean>;
}

/**
 * Reads and matches runs.
 *
 * @param enabled whether the rule at an index of `matcher.rules` is previewed
 * @throws the database's error
 */
export async function previewRuns(
  runs: readonly RunToRead[],
  enabled: (ruleIndex: number) => boolean,
  deps: PreviewBatchDependencies,
): Promise<PreviewBatch> {
  const { database } = deps;
  const read = await readStepsOfRuns(database, runs, { runBytesMax: TOGETHER_BYTES_MAX });
  let tally = EMPTY_TALLY;
  let done = 0;
  const [fromCpuMs, fromMs] = [deps.cpuMs(), performance.now()];
  for (const [index, steps] of read.entries()) {
    const run = runs[index];
    if (run === undefined) break;
    tally = addTallies(tally, await previewRun(run, steps, enabled, deps));
    done += 1;
    if (tally.cpuMs >= BATCH_CPU_MS) break;
  }
  const thread = { cpuMs: deps.cpuMs() - fromCpuMs, wallMs: performance.now() - fromMs };
  return { runs: done, tally, thread };
}

async function previewRun(
  { runId }: RunToRead,
  read: StepsOfRun | null,
  enabled: (ruleIndex: number) => boolean,
  { matcher, settings, work, cpuMs }: PreviewBatchDependencies,
): Promise<PreviewTally> {
  if (read === null) return { ...EMPTY_TALLY, skipped: 1 };
  const { steps, unread, unreadable } = read;
  if (isUnreadable({ steps, unread })) return { ...EMPTY_TALLY, skipped: 1 };
  const evaluation = new RunEvaluation(steps, matcher, enabled, settings);
  let usedMs = 0;
  // Slices of other tasks run in between; their time is not this run's.
  const slice = (isOver: () => boolean): boolean => {
    const from = cpuMs();
    try {
      return evaluation.work(isOver);
    } finally {
      usedMs += cpuMs() - from;
    }
  };
  const isDone = await work({ work: slice }, PREVIEW_RUN_CPU_MS);
  if (!isDone) evaluation.stop();
  const { findings, undecided } = evaluation.result;
  const rules: Record<string, RuleTally> = {};
  for (const { ruleId, surface, place } of findings) {
    rules[ruleId] = { runs: 1, examples: [{ runId, step: place.step, surface }] };
  }
  return {
    ...EMPTY_TALLY,
    read: 1,
    found: findings.length > 0 ? 1 : 0,
    cut: isDone && undecided.length === 0 && unreadable.blocks === 0 ? 0 : 1,
    cpuMs: usedMs,
    rules,
  };
}
