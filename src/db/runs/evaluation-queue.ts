/**
 * The queue of runs to evaluate: claimed under a lease, then completed (complete-runs.ts), released
 * or requeued.
 *
 *   pending ──claim──► leased ──complete──► evaluated ──late steps──► evaluated, late_waits
 *      ▲                 │ release, requeue, or the lease ends: it expires, or its process is dead
 *      └─────────────────┘ … after ATTEMPTS_MAX attempts: giveUpRuns sets evaluation_failed
 *
 * A run whose late steps wait is claimed, completed and given up in the same way. A claim is for the steps
 * that had arrived by then and were not evaluated (late-steps.ts).
 * `claims` is the fencing token, and grows with each claim and release: a process that has lost its
 * lease, or given it back, names an older one, and changes nothing. An attempt is counted when a run
 * begins to be evaluated alone (beginAttempt) or ends undecided (releaseRun). Runs that a process had
 * only claimed, or was evaluating together, lose no attempt when it dies; they go alone the next time.
 * Statements over several runs lock them in key order, as ingest does.
 */
import type { RunRef, RunState } from '../../model/runs.ts';
import type { Database } from '../database.ts';
import { utcDayOf } from '../sql-times.ts';
import { type ClaimSettings, ClaimTurns } from './claim-turns.ts';
import { ATTEMPTS_MAX, dueRuns, WAITS } from './due-runs.ts';
import { CLAIMED_PART, UNEVALUATED_STEPS } from './late-steps.ts';

/** A lease that is not renewed ends after this; much earlier when its process is dead (processes.ts). */
const LEASE_SECONDS = 300;
/** A released run waits this long times its attempts before it is claimed again. */
const RETRY_DELAY_SECONDS = 10;
/** Bounds one statement; the next claim gives up further ones. */
const GIVE_UP_MAX = 1000;

export interface ClaimedRun extends RunRef {
  /** the fencing token */
  readonly claim: number;
  /** which attempt at the run this is, from 1 */
  readonly attempt: number;
  /** it was claimed before, and not requeued since: it may be one that ends threads or the process */
  readonly isRetry: boolean;
  readonly state: RunState;
  /** UTC days, as `2026-11-20`, between which its steps had arrived when it was claimed */
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
  /** how many had arrived that were not evaluated */
  readonly steps: number;
  /** the run was evaluated before: these are its late steps */
  readonly isLate?: boolean;
}

const KINDS = [
  ['timedOut', 'timed_out'],
  ['again', 'again'],
  ['fresh', 'fresh'],
] as const;

/** `$3` to `$6` are the turns, column by column; `$7` is their sum, for the planner; `$8` who claims. */
const CLAIM = `
  UPDATE runs AS r
     SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}),
         leased_by = $8::uuid, claims = r.claims + 1, ${CLAIMED_PART},
         state = CASE WHEN r.state = 'running' THEN 'timed_out' ELSE r.state END,
         settles_until = CASE WHEN r.state = 'running' THEN now() ELSE r.settles_until END
    FROM (SELECT due.*, turn.place AS turn
            FROM unnest($3::int[], $4::int[], $5::int[], $6::int[]) WITH ORDINALITY
                 AS turn (workspace_id, timed_out, again, fresh, place)
           CROSS JOIN LATERAL (
             SELECT run.*, row_number() OVER () AS round FROM (${KINDS.map(
               ([kind, share]) => `
               SELECT *, ${kind === 'again'} AS "isRetry" FROM (
                 ${dueRuns(kind, 'turn.workspace_id', `turn.${share}`)} FOR UPDATE SKIP LOCKED
               ) AS ${share}`,
             ).join(' UNION ALL ')}
             ) AS run
           ) AS due LIMIT $7::int) AS due
   WHERE r.workspace_id = due.workspace_id AND r.run_id = due.run_id
  RETURNING r.workspace_id AS "workspaceId", r.run_id AS "runId", r.claims AS claim,
            r.attempts + 1 AS attempt, due."isRetry", r.state,
            ${utcDayOf('r.first_arrival_at')} AS "firstArrivalOn",
            ${utcDayOf('r.last_arrival_at')} AS "lastArrivalOn",
            ${UNEVALUATED_STEPS} AS steps, r.late_waits AS "isLate",
            due.round::int, due.turn::int`;

/**
 * Leases finished and settled runs; other processes get other runs. A run without a root becomes
 * `timed_out` here, once nothing has arrived for `timeoutMs`. run-times.ts limits for how long
 * arrivals delay either.
 *
 * Workspaces take turns (claim-turns.ts), and of each the longest-waiting runs are claimed.
 * Timed-out runs come first but get at most a quarter (rounded up), so that neither kind starves;
 * for the same reason runs that were claimed before come ahead of fresh ones.
 *
 * @param settings.processId whose leases they are (processes.ts); by default nobody's: they only expire
 * @param turns where the last claim of this process ended; by default a claim starts with the first
 *   workspace
 * @returns the first run of each workspace, then the second of each, …
 */
export async function claimRuns(
  database: Database,
  {
    retries,
    processId = null,
    ...settings
  }: Omit<ClaimSettings, 'retries'> &
    Partial<Pick<ClaimSettings, 'retries'>> & { readonly processId?: string | null },
  turns: ClaimTurns = new ClaimTurns(),
): Promise<ClaimedRun[]> {
  const own = await turns.next(database, { ...settings, retries: retries ?? settings.limit });
  if (own.length === 0) return [];
  const { rows } = await database.query<ClaimedRun & { round: number; turn: number }>(CLAIM, [
    settings.settleMs,
    settings.timeoutMs,
    own.map(({ workspaceId }) => workspaceId),
    own.map(({ timedOut }) => timedOut),
    own.map(({ again }) => again),
    own.map(({ fresh }) => fresh),
    own.reduce((sum, { timedOut, again, fresh }) => sum + timedOut + again + fresh, 0),
    processId,
  ]);
  return rows
    .sort((one, other) => one.round - other.round || one.turn - other.turn)
    .map(({ round: _round, turn: _turn, isLate, ...run }) => ({
      ...run,
      ...(isLate === true && { isLate }),
    }));
}

/**
 * Sets runs whose last attempt has failed or was lost to `evaluation_failed`; nothing else does.
 *
 * @returns how many, at most GIVE_UP_MAX
 */
export async function giveUpRuns(database: Database): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE runs AS r
        SET evaluation = 'evaluation_failed', late_waits = false, lease_until = NULL, leased_by = NULL,
            last_error = coalesce(last_error, 'the lease ran out: the process had ended')
       FROM (SELECT workspace_id, run_id FROM runs
              WHERE ${WAITS} AND attempts >= ${ATTEMPTS_MAX}
                AND (lease_until IS NULL OR lease_until < now())
              ORDER BY workspace_id, run_id LIMIT ${GIVE_UP_MAX} FOR UPDATE SKIP LOCKED) AS lost
      WHERE r.workspace_id = lost.workspace_id AND r.run_id = lost.run_id`,
  );
  return rowCount ?? 0;
}

/** The runs that the caller still has leased, locked in key order; `$1` to `$4` are `keysOf`. */
const OWN_RUNS = `
  SELECT r.workspace_id, r.run_id, t.attempt
    FROM runs r JOIN unnest($1::int[], $2::uuid[], $3::int[], $4::int[]) AS t (w, run, claim, attempt)
      ON r.workspace_id = t.w AND r.run_id = t.run AND r.claims = t.claim
   WHERE ${WAITS}
   ORDER BY r.workspace_id, r.run_id FOR UPDATE OF r`;

function keysOf(runs: readonly ClaimedRun[]): unknown[] {
  return [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    runs.map(({ claim }) => claim),
    runs.map(({ attempt }) => attempt),
  ];
}

/** Renews the leases of runs. */
export async function renewLeases(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  await database.query(
    `UPDATE runs AS r SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
       FROM (${OWN_RUNS}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf(runs),
  );
}

/**
 * Counts the attempt at a run, before anything of it is matched. To be called for a run that is
 * evaluated alone: if it ends the process, it is to blame.
 *
 * @returns false when another process has claimed the run; nothing is counted
 */
export async function beginAttempt(database: Database, run: ClaimedRun): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE runs AS r SET attempts = own.attempt FROM (${OWN_RUNS}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf([run]),
  );
  return rowCount === 1;
}

/**
 * Requeues runs as if they had not been claimed: their attempt is not counted. For runs whose
 * evaluation did not begin, or ended for a reason outside the run.
 */
export async function requeueRuns(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  if (runs.length === 0) return;
  await database.query(
    `UPDATE runs AS r SET attempts = own.attempt - 1, claims = r.claims + 1,
            lease_until = NULL, leased_by = NULL
       FROM (${OWN_RUNS}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf(runs),
  );
}

/**
 * Releases a run undecided; its attempt counts. It is claimed again later, or given up at once after
 * its last attempt.
 *
 * @param why one of the program's own reasons, never customers' text
 */
export async function releaseRun(database: Database, run: ClaimedRun, why: string): Promise<void> {
  await database.query(
    `UPDATE runs
        SET last_error = $4, leased_by = NULL, attempts = $5::int, claims = claims + 1,
            lease_until = CASE WHEN $5::int < ${ATTEMPTS_MAX}
                            THEN now() + make_interval(secs => ${RETRY_DELAY_SECONDS} * $5::int)
                          END
      WHERE workspace_id = $1 AND run_id = $2 AND claims = $3 AND ${WAITS}`,
    [run.workspaceId, run.runId, run.claim, why, run.attempt],
  );
}
