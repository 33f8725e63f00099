/**
 * How much of a run was checked: the same in the list, the run's page, the API and the metrics. A run without
 * findings says little unless everything was checked.
 */
import type { Checked, RunSummary } from './runs.ts';

export const CHECK_LIMITS = [
  'late_steps',
  'unread_steps',
  'unreadable_blocks',
  'truncated_texts',
  'unparsed_values',
  'text_gaps',
  'unread_texts',
  'unknown_roles',
] as const;
export const CHECKED_LABELS: Readonly<Record<Checked, string>> = {
  pending: 'not yet',
  failed: 'failed',
  nothing: 'nothing',
  tool_names_only: 'only tool names',
  partly: 'partly',
  fully: 'everything sent',
};

/** Why not everything was checked: each is the member of the run that says how much. */
export type CheckLimit = (typeof CHECK_LIMITS)[number];

export interface RunCheck {
  readonly checked: Checked;
  readonly limits: readonly CheckLimit[];
}

export interface CheckedOutcome {
  readonly checked: Checked;
  /** its CPU time was used up before all of its steps were read */
  readonly isOverBudget: boolean;
  /** attributes with text that no convention reads */
  readonly unreadTexts: number;
  /** roles of its messages that are in no known word */
  readonly unknownRoles: number;
}

export type CheckedRun = Pick<
  RunSummary,
  | 'evaluation'
  | 'spans'
  | 'logRecords'
  | 'evaluatedSteps'
  | 'unreadSteps'
  | 'unreadable'
  | 'texts'
  | 'surfaces'
  | 'truncatedTexts'
  | 'unparsedValues'
  | 'textGaps'
  | 'unreadTexts'
  | 'unknownRoles'
>;

/** Steps that arrived after the evaluation and were not evaluated by themselves. */
export function lateSteps({ spans, logRecords, evaluatedSteps }: CheckedRun): number {
  return evaluatedSteps === null ? 0 : Math.max(0, spans + logRecords - evaluatedSteps);
}

/** The checked part of a run, by the worst known reason, and every reason why it is not all of the run. */
export function checkOf(run: CheckedRun): RunCheck {
  if (run.evaluation !== 'evaluated') {
    const isLate = run.evaluation === 'evaluation_failed' && lateSteps(run) > 0;
    const checked = run.evaluation === 'pending' ? 'pending' : 'failed';
    return { checked, limits: isLate ? ['late_steps'] : [] };
  }
  const counts: Readonly<Record<CheckLimit, number>> = {
    late_steps: lateSteps(run),
    unread_steps: run.unreadSteps ?? 0,
    unreadable_blocks: run.unreadable?.blocks ?? 0,
    truncated_texts: run.truncatedTexts ?? 0,
    unparsed_values: run.unparsedValues ?? 0,
    text_gaps: run.textGaps?.length ?? 0,
    unread_texts: run.unreadTexts ?? 0,
    unknown_roles: run.unknownRoles?.length ?? 0,
  };
  const limits = CHECK_LIMITS.filter((limit) => counts[limit] > 0);
  const { texts, surfaces } = run;
  if (texts === 0) return { checked: 'nothing', limits };
  if (surfaces?.every((surface) => surface === 'tool_name')) {
    return { checked: 'tool_names_only', limits };
  }
  if (limits.length > 0) return { checked: 'partly', limits };
  return { checked: 'fully', limits };
}
