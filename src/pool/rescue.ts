/**
 * What can be found in a run whose evaluation has failed before, whatever becomes of it this time: its
 * steps are evaluated a few at a time, and what they show is stored at once, before the whole run is
 * tried again. So a step that cannot be judged, or ends the thread, takes no other's findings with it
 * (issue 9.4a).
 *
 *   group ──► evaluate ──► store what was found ──► the next group … ──► the whole run, as ever
 *     └ throws: passed over · ends the thread: passed over the next time (trail.ts)
 *
 * Decides nothing about the run: it stays pending.
 */
import { keepFindings } from '../db/complete-runs.ts';
import type { Database } from '../db/database.ts';
import type { ClaimedRun } from '../db/evaluation-queue.ts';
import { type Evaluation, RunEvaluation } from '../engine/evaluate.ts';
import type { Matcher } from '../engine/matcher.ts';
import type { Step } from '../model.ts';
import { createFlow } from './slice-scheduler.ts';
import { type SliceDependencies, workInSlices } from './slices.ts';
import type { Trail, WorkerSettings, WorkspaceRules } from './tasks.ts';
import { enterGroup, isThrough, leaveGroups } from './trail.ts';

export interface RescueDependencies extends SliceDependencies {
  readonly database: Database;
  readonly matcher: Matcher;
  readonly settings: WorkerSettings;
}

/**
 * Stores what the steps of a run show, group by group, until the CPU time of one run is used up.
 *
 * @throws what the database throws
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
  const known = new Set<string>();
  const enabled = (ruleIndex: number): boolean =>
    mask[ruleIndex] === 1 && !known.has(matcher.rules[ruleIndex]?.id ?? '');
  for (const [index, group] of groupsOf(steps).entries()) {
    if (trail.fatal.includes(index)) continue;
    enterGroup(trail, index);
    const from = cpuMs();
    const begin = () => new RunEvaluation(group, matcher, enabled, settings);
    const findings = await tryGroup(begin, leftMs, rescue);
    leftMs -= cpuMs() - from;
    if (findings.length > 0) {
      for (const { ruleId } of findings) known.add(ruleId);
      const kept = { run, findings, redactExcerpts };
      const stored = await keepFindings(database, kept, settings.snapshot.version);
      // Another process has the run now.
      if (stored === null) return;
    }
    if (leftMs <= 0) break;
  }
  leaveGroups(trail);
}

/** Of steps that cannot be judged nothing is found here; the whole run's evaluation says why. */
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

/** Each span with its log records, which are read by its kind; in order of their first steps. */
function groupsOf(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  const ofSpan = new Map<string, Step[]>();
  for (const step of steps) {
    const same = step.spanId === null ? undefined : ofSpan.get(step.spanId);
    if (same !== undefined) {
      same.push(step);
      continue;
    }
    const group = [step];
    groups.push(group);
    if (step.spanId !== null) ofSpan.set(step.spanId, group);
  }
  return groups;
}
