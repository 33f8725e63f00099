/**
 * Which rows of a run an evaluation is for. Each claim divides the rows by arrival, exactly:
 *
 *   evaluated ──────► │ this claim's ──────► │ late: waits for the next claim
 *               evaluated_to           claimed_to
 *
 * A row has the time at which its transaction began, and the transaction updates its run last, so it
 * may have begun before a claim that it follows. Ingest then adds its time to `…_without`: its rows are behind
 * the line, although their time is before it. All times are PostgreSQL's, of one server.
 *
 * The claim's line is in its lease. A claim locks its runs while it stores leases, and ingest looks for leases
 * in a statement after the one that locks its runs: it sees every claim that was before it.
 */

/** Line and count of the claim of `run`, whose row is locked, so everything that it counts is committed. */
export const CLAIMED_TO = 'greatest(clock_timestamp(), run.last_arrival_at)';
export const CLAIMED_ROWS = 'run.spans + run.repeated_spans + run.log_records';

/** How many rows of `run` were not evaluated. */
export const UNEVALUATED_STEPS = `CASE WHEN run.late_waits THEN run.spans + run.log_records - run.evaluated_steps
                 ELSE run.spans + run.repeated_spans + run.log_records END`;

/** Checks in SQL whether the run `r` has more rows than its claim in `own` counted. */
export const HAS_MORE = '(r.spans + r.repeated_spans + r.log_records > own.claimed_rows)';

/** Sets what of `r` is evaluated once its claim in `own` is completed; more may have arrived since. */
export const EVALUATED_PART = `
           evaluated_to = own.claimed_to, evaluated_without = own.claimed_without,
           late_waits = ${HAS_MORE},
           settles_until = CASE WHEN ${HAS_MORE} THEN r.last_arrival_at END`;

/**
 * Notes in `r` that steps arrive, within the transaction that stores them: those of a run that was
 * evaluated are late, and wait as long as those of a run that has just finished.
 */
export const arrivedSteps = (settlesUntil: string, others: string): string => `
             evaluated_without = CASE WHEN now() <= r.evaluated_to THEN r.evaluated_without || now()
                                      ELSE r.evaluated_without END,
             late_waits = r.late_waits OR ${BECOMES_LATE},
             attempts = CASE WHEN ${BECOMES_LATE} THEN 0 ELSE r.attempts END,
             settles_until = CASE WHEN ${BECOMES_LATE} THEN ${settlesUntil} ELSE ${others} END`;

const BECOMES_LATE = `(r.evaluation = 'evaluated' AND NOT r.late_waits)`;

/**
 * Notes in the leases of runs that their claims are not for the steps of this transaction; `$1` and `$2` are the
 * runs' keys. Follows the statement that locks the runs.
 */
export const ARRIVED_AFTER_CLAIMS = `
  UPDATE leases AS l SET claimed_without = l.claimed_without || now()
    FROM (SELECT l.workspace_id, l.run_id
            FROM unnest($1::int[], $2::uuid[]) AS t (workspace_id, run_id)
            JOIN leases AS l ON l.workspace_id = t.workspace_id AND l.run_id = t.run_id
           WHERE now() <= l.claimed_to
           ORDER BY l.workspace_id, l.run_id FOR UPDATE OF l) AS own
   WHERE l.workspace_id = own.workspace_id AND l.run_id = own.run_id`;

/**
 * The rows that a claim of the run `r` is for, by its lease `l`; null where it is not read for a claim. A lease
 * that is gone does not bound the rows: the claim is void.
 */
export const partOf = (claimed: string): string =>
  [
    ['claimed_to', "coalesce(l.claimed_to, 'infinity')"],
    ['claimed_without', 'l.claimed_without'],
    ['evaluated_to', 'r.evaluated_to'],
    ['evaluated_without', 'r.evaluated_without'],
  ]
    .map(([name, value]) => `CASE WHEN ${claimed} IS NOT NULL THEN ${value} END AS ${name}`)
    .join(', ');

export const LEASES =
  'LEFT JOIN leases AS l ON l.workspace_id = r.workspace_id AND l.run_id = r.run_id';

/** As `partOf` for runs that are not read for a claim. A standby has no leases. */
export const WHOLE_RUN = `NULL::timestamptz AS claimed_to, NULL::timestamptz[] AS claimed_without,
       NULL::timestamptz AS evaluated_to, NULL::timestamptz[] AS evaluated_without`;

/** Checks in SQL whether the claim of a run (`partOf`) includes a row of a telemetry table. */
export const isInPart = (table: string, run = 'run'): string => {
  const at = `${table}.arrived_at`;
  const isIn = (list: string): string => `coalesce(${at} = ANY (${run}.${list}), false)`;
  return `(${run}.claimed_to IS NULL OR (
     ${at} <= ${run}.claimed_to AND NOT ${isIn('claimed_without')}
     AND (${run}.evaluated_to IS NULL OR ${at} > ${run}.evaluated_to OR ${isIn('evaluated_without')})))`;
};
