/**
 * When a run is due, and how long what keeps arriving may put that off.
 *
 *   open      due `timeoutMs` after its last arrival, at the latest `openMaxMs` after its first
 *   finished  due `settleMs` after its last arrival, at the latest `settleMaxMs` after it finished
 *
 * Without the second half of each a sender that adds a span now and then would never be evaluated.
 * Ingest writes the ceiling into `runs.settles_until`, so that both halves are one comparison, with an
 * index: arrivals after `settles_until` do not count. All by PostgreSQL's clock.
 */

/** Milliseconds; each maximum is at least as long as what it bounds. */
export interface RunTimes {
  readonly settleMs: number;
  readonly settleMaxMs: number;
  readonly timeoutMs: number;
  readonly openMaxMs: number;
}

/** How long after it begins, and after it finishes, arrivals put off the evaluation of a run. */
export interface SettleAllowance {
  readonly openMs: number;
  readonly finishedMs: number;
}

export function settleAllowance(times: RunTimes): SettleAllowance {
  return {
    openMs: times.openMaxMs - times.timeoutMs,
    finishedMs: times.settleMaxMs - times.settleMs,
  };
}

/** What the settle time or the time-out of a run counts from; the indexes of `runs` name it too. */
export const SETTLES_FROM = 'least(last_arrival_at, settles_until)';
