/**
 * Which rows of a run an evaluation is for. Each claim divides the rows by arrival, exactly:
 *
 *   evaluated ──────► │ this claim's ──────► │ late: waits for the next claim
 *               evaluated_to           claimed_to
 *
 * A row has the time at which its transaction began, and the transaction updates its run last, so it
 * may have begun before a claim that it follows. Ingest then adds its time to `…_without` of the run: its
 * rows are behind the line, although their time is before it. All times are PostgreSQL's, of one server.
 */

/** Sets what a claim of `r` is for. The row is locked, so everything that it counts is committed. */
export const CLAIMED_PART = `
         claimed_to = greatest(clock_timestamp(), r.last_arrival_at), claimed_without = NULL,
         claimed_rows = r.spans + r.repeated_spans + r.log_records`;

/** How many rows of `r` were not evaluated. */
export const UNEVALUATED_STEPS = `CASE WHEN r.late_waits THEN r.spans + r.log_records - r.evaluated_steps
                 ELSE r.spans + r.repeated_spans + r.log_records END`;

/** Checks in SQL whether a run has more rows than its claim counted. */
export const HAS_MORE = '(r.spans + r.repeated_spans + r.log_records > r.claimed_rows)';

/** Sets what of `r` is evaluated once its claim is completed; more may have arrived since. */
export const EVALUATED_PART = `
           evaluated_to = r.claimed_to, evaluated_without = r.claimed_without,
           late_waits = ${HAS_MORE},
           settles_until = CASE WHEN ${HAS_MORE} THEN r.last_arrival_at ELSE r.settles_until END`;

const withoutLater = (list: string, line: string): string =>
  `CASE WHEN now() <= ${line} THEN ${list} || now() ELSE ${list} END`;

/**
 * Notes in `r` that steps arrive, within the transaction that stores them: those of a run that was
 * evaluated are late, and wait as long as those of a run that has just finished.
 *
 * @param settlesUntil the end of that wait
 * @param others how `settles_until` is set otherwise
 */
export const arrivedSteps = (settlesUntil: string, others: string): string => `
             claimed_without = ${withoutLater('r.claimed_without', 'r.claimed_to')},
             evaluated_without = ${withoutLater('r.evaluated_without', 'r.evaluated_to')},
             late_waits = r.late_waits OR ${BECOMES_LATE},
             attempts = CASE WHEN ${BECOMES_LATE} THEN 0 ELSE r.attempts END,
             settles_until = CASE WHEN ${BECOMES_LATE} THEN ${settlesUntil} ELSE ${others} END`;

const BECOMES_LATE = `(r.evaluation = 'evaluated' AND NOT r.late_waits)`;

/** Columns of `runs` that say which rows a claim is for. */
const PART_COLUMNS = ['claimed_to', 'claimed_without', 'evaluated_to', 'evaluated_without'];

/** `PART_COLUMNS` of `r`; null where it is not read for a claim. */
export const partOf = (claimed: string): string =>
  PART_COLUMNS.map(
    (column) => `CASE WHEN ${claimed} IS NOT NULL THEN r.${column} END AS ${column}`,
  ).join(', ');

/**
 * Checks in SQL whether the claim of a run includes a row of a telemetry table.
 *
 * @param run has `PART_COLUMNS`; all rows are its part where `claimed_to` is null
 */
export const isInPart = (table: string, run = 'run'): string => {
  const at = `${table}.arrived_at`;
  const isIn = (list: string): string => `coalesce(${at} = ANY (${run}.${list}), false)`;
  return `(${run}.claimed_to IS NULL OR (
     ${at} <= ${run}.claimed_to AND NOT ${isIn('claimed_without')}
     AND (${run}.evaluated_to IS NULL OR ${at} > ${run}.evaluated_to OR ${isIn('evaluated_without')})))`;
};
