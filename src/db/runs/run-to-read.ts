/** Which runs are read, and how much of each. */
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
