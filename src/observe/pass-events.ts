/** Events of the evaluation of runs, and of previews. */
import type { Logger } from 'pino';

import type { Severity } from '../model/rules.ts';
import type { CheckedOutcome } from '../model/run-check.ts';
import type { EventKinds } from './event-kinds.ts';

export interface PassFacts {
  readonly evaluated: number;
  readonly undecided: number;
  readonly findings: number;
  readonly elapsedMs: number;
}

export function passEvents(log: Logger, kinds: EventKinds) {
  const { counter, counted, summed, shown, fault, outage } = kinds;
  const runs = counter('pass_runs_total', 'Runs taken by the pass, by outcome.', ['outcome']);
  const withoutText = counted<[]>(
    'pass_runs_without_text_total',
    'Runs evaluated that held no text: their instrumentation sends none.',
  );
  const byChecked = counted<[checked: string]>(
    'pass_runs_checked_total',
    'Runs evaluated, by what of them was checked: nothing, tool_names_only, partly or fully.',
    'checked',
  );
  const withUnknownRoles = counted<[]>(
    'pass_runs_with_unknown_roles_total',
    'Runs evaluated with messages of roles that are not known. The roles are in the runs.',
  );
  const allUnreadTexts = summed(
    'pass_unread_texts_total',
    'Attributes with text that no convention reads, of runs evaluated. Their keys are in the runs.',
  );
  const overBudget = counted<[]>(
    'pass_runs_over_budget_total',
    'Runs evaluated whose CPU time was used up before all of their steps were read.',
  );
  const findings = counter('pass_findings_total', 'Findings stored, by severity.', ['severity']);
  const rounds = counted<[outcome: string]>(
    'pass_rounds_total',
    'Rounds of the pass, by outcome.',
    'outcome',
  );
  const waitingRuns = shown(
    'pass_waiting_runs',
    'Runs of all processes that are due for evaluation, at most 200,000. The same everywhere.',
  );
  const oldestWait = shown(
    'pass_oldest_wait_seconds',
    'How long the first of these runs has been due; 0 when none is.',
  );
  const { evaluationFailed, passWorked } = outage('evaluationFailed', 'passWorked', {
    place: null,
    level: 'error',
    fails: 'evaluation failed; it will be retried at the next interval',
    works: 'runs are evaluated again',
  });
  const backlog = outage('uncounted', 'counted', {
    place: 'backlog_count',
    fails: 'the runs that wait for evaluation could not be counted; metrics are old',
    works: 'waiting runs are counted again',
  });
  return {
    passFinished(facts: PassFacts): void {
      rounds('finished');
      runs.inc({ outcome: 'evaluated' }, facts.evaluated);
      runs.inc({ outcome: 'undecided' }, facts.undecided);
      if (facts.evaluated + facts.undecided > 0) log.info(facts, 'runs evaluated');
    },
    findingsStored(severity: Severity, count: number): void {
      findings.inc({ severity }, count);
    },
    passFailed(error: unknown): void {
      rounds('failed');
      evaluationFailed(error);
    },
    /** The database took part in the pass again. */
    passWorked,
    previewFinished(count: number, isWhole: boolean): void {
      log.info({ runs: count, isWhole }, 'a preview of rules finished');
    },
    /** A preview that failed continues when the database can be reached. */
    ...outage('previewFailed', 'previewsWorked', {
      place: 'preview',
      fails: 'a preview cannot continue yet',
      works: 'previews work again',
    }),
    matchThreadFailed: fault(
      'match_thread',
      'an idle match thread failed; another takes its place',
    ),
    /** @param why a message of this program, never customers' text; `passFinished` counts the run */
    runUndecided(why: string): void {
      log.warn({ why }, 'a run could not be evaluated; it will be retried');
    },
    /** @param why a message of this program, never customers' text */
    runsTriedApart(count: number, why: string): void {
      log.warn(
        { runs: count, why },
        'evaluating several runs failed; each will be retried on its own',
      );
    },
    runLost(): void {
      runs.inc({ outcome: 'lost' });
      log.warn('another process claimed a run before it was evaluated');
    },
    runChecked({ checked, isOverBudget, unreadTexts, unknownRoles }: CheckedOutcome): void {
      byChecked(checked);
      allUnreadTexts(unreadTexts);
      if (unknownRoles > 0) withUnknownRoles();
      if (checked === 'nothing' && !isOverBudget) withoutText();
    },
    ...outage('sessionMarksFailed', 'sessionMarksApplied', {
      place: 'session_marks',
      fails: 'session changes could not be applied; they will be retried',
      works: 'session changes are applied again',
    }),
    /** A run's CPU time was used up; its findings so far are stored, with the number of unread steps. */
    runOverBudget(): void {
      overBudget();
      log.warn(
        'a run used up its CPU time (RUN_CPU_BUDGET_MS); the rest of its text was not checked',
      );
    },
    /** Processes that ended without stopping. */
    deadProcessesFound(processes: number, count: number): void {
      const words = 'a process that evaluated runs is dead; its runs are evaluated by the others';
      log.warn({ processes, runs: count }, words);
    },
    runsGivenUp(count: number): void {
      runs.inc({ outcome: 'evaluation_failed' }, count);
      log.error(
        { runs: count },
        'runs could not be evaluated after the last attempt: marked evaluation_failed',
      );
    },
    backlogCounted(count: number, oldestSeconds: number): void {
      backlog.counted();
      waitingRuns(count);
      oldestWait(oldestSeconds);
    },
    backlogUncounted: backlog.uncounted,
    ...outage('ruleCostsUnrecorded', 'ruleCostsRecorded', {
      place: 'rule_costs',
      fails: 'matcher times of rules could not be stored; it will be retried',
      works: 'matcher times of rules are stored again',
    }),
  };
}
