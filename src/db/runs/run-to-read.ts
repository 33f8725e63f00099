/** Which runs the statements that read steps are for, as their parameters. */
import type { ClaimedRun } from './evaluation-queue.ts';

/** A run's key and the days of its arrival; of a claimed one, the part that its claim is for. */
export type RunToRead = Pick<
  ClaimedRun,
  'workspaceId' | 'runId' | 'firstArrivalOn' | 'lastArrivalOn'
> &
  Partial<Pick<ClaimedRun, 'steps' | 'isLate'>>;

export interface StepLimits {
  /** most steps of a run that one evaluation reads: the first that arrived */
  readonly stepsMax: number;
  /** most bytes of records that one evaluation reads; the first record is read whatever its size */
  readonly bytesMax: number;
}

/** The parameters $1 to $8. */
export function parametersOf(
  runs: readonly RunToRead[],
  { stepsMax, bytesMax }: StepLimits,
): unknown[] {
  const firstDays = runs.map(({ firstArrivalOn }) => firstArrivalOn);
  const lastDays = runs.map(({ lastArrivalOn }) => lastArrivalOn);
  return [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    firstDays,
    lastDays,
    [...firstDays].sort()[0],
    [...lastDays].sort().at(-1),
    stepsMax,
    bytesMax,
  ];
}
