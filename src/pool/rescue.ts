/**
 * Saves findings of a run whose evaluation has failed before: its steps are evaluated in small
 * groups, and each group's findings are stored at once, before the whole run is tried again. So a
 * step that cannot be evaluated, or that crashes the thread, does not lose the findings of other
 * steps.
 *
 *   group ──► evaluate ──► store its findings ──► the next group … ──► the whole run, as usual
 *     └ throws: skipped · crashes the thread: skipped in the next attempt (trail.ts)
 *
 * Does not change the run's state: it stays pending.
 */

import type { Database } from '../db/database.ts';
import { keepFindings } from '../db/runs/complete-runs.ts';
import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import { type Evaluation, RunEvaluation } from '../engine/evaluate.ts';
import type { Matcher } from '../engine/matcher/matcher.ts';
import { stepKindsOf } from '../engine/surfaces/reader/extract.ts';
import { runFactsOf } from '../engine/surfaces/reader/run-facts.ts';
import { groupBy } from '../model/groups.ts';
import type { RunFacts } from '../model/runs.ts';
import type { Step } from '../model/steps.ts';
import { createFlow, type SliceDependencies, workInSlices } from './slice-scheduler.ts';
import type { Trail, WorkerSettings, WorkspaceRules } from './tasks.ts';
import { enterGroup, isThrough, leaveGroups } from './trail.ts';

export interface RescueDependencies extends SliceDependencies {
  readonly database: Database;
  readonly matcher: Matcher;
  readonly settings: WorkerSettings;
}

/**
 * Stores the findings of a run's steps, group by group, until the run's CPU time is used up.
 *
 * @throws the database's errors
 */
export async function rescueFindings(
  run: ClaimedRun,
  steps: readonly Step[],
  { mask, redactExcerpts }: WorkspaceRules,
  trail: Trail,
  rescue: RescueDependencies,
): Promise<void> {
  if (isThrough(trail)) return;
  const { database, matcher, settings, cpuMs } = rescue;
  let leftMs = settings.runCpuBudgetMs;
  let facts: RunFacts | null = null;
  const enabled = (ruleIndex: number): boolean => mask[ruleIndex] === 1;
  // Of a rule that has a finding too: should the run be given up, its places are known all the same.
  const every = { ...settings, everyPlace: true };
  // Each span with its log records, because its kind decides how they are read.
  const groups = groupBy(steps, (step) => step.spanId ?? step);
  for (const [index, group] of [...groups.values()].entries()) {
    if (trail.fatal.includes(index)) continue;
    enterGroup(trail, index);
    const from = cpuMs();
    const begin = () => new RunEvaluation(group, matcher, enabled, every);
    const findings = await tryGroup(begin, leftMs, rescue);
    leftMs -= cpuMs() - from;
    if (findings.length > 0) {
      facts ??= runFactsOf(steps, stepKindsOf(steps), [], run.state);
      const kept = { run, findings, facts, redactExcerpts };
      const stored = await keepFindings(database, kept, settings.snapshot);
      // Another process has claimed the run.
      if (stored === null) return;
    }
    if (leftMs <= 0) break;
  }
  leaveGroups(trail);
}

/**
 * Returns no findings if a step cannot be evaluated; evaluating the whole run reports the error.
 */
async function tryGroup(
  begin: () => RunEvaluation,
  cpuMaxMs: number,
  rescue: RescueDependencies,
): Promise<Evaluation['findings']> {
  try {
    const evaluation = begin();
    const isDone = await workInSlices(evaluation, createFlow(1), cpuMaxMs, rescue);
    if (!isDone) evaluation.stop();
    return evaluation.result.findings;
  } catch {
    return [];
  }
}
