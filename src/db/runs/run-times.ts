/**
 * When a run is due for evaluation, and for how long further arrivals can delay that.
 *
 *   open      due `timeoutMs` after its last arrival, at the latest `openMaxMs` after its first
 *   finished  due `settleMs` after its last arrival, at the latest `settleMaxMs` after it finished
 *
 * Without the maximum, a sender could delay the evaluation forever by adding a span now and then.
 * Ingest stores the end of the delay in `runs.settles_until`, so that both conditions are one
 * comparison with one index: arrivals after `settles_until` do not count. All times are
 * PostgreSQL's.
 */

/** In milliseconds; each maximum is at least as long as the time it bounds. */
export interface RunTimes {
  readonly settleMs: number;
  readonly settleMaxMs: number;
  readonly timeoutMs: number;
  readonly openMaxMs: number;
}

/** For how long after a run's first arrival, and after it finished, further arrivals delay its evaluation. */
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

/** The start of a run's settle time or timeout; the indexes on `runs` contain the same expression. */
export const SETTLES_FROM = 'least(last_arrival_at, settles_until)';
