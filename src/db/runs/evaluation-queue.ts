/**
 * The queue of runs to evaluate: claimed under a lease, then completed (complete-runs.ts), released
 * or requeued.
 *
 *   pending ──claim──► leased ──complete──► evaluated ──late steps──► evaluated, late_waits
 *      ▲                 │ release, requeue, or the lease ends: it expires, or its process is dead
 *      └─────────────────┘ … after ATTEMPTS_MAX attempts: giveUpRuns sets evaluation_failed
 *
 * A claim locks its runs and writes one row of `leases` for each; the runs' own rows stay as they are. A run
 * whose late steps wait is claimed, completed and given up in the same way. A claim is for the steps that had
 * arrived by then and were not evaluated (late-steps.ts).
 * `leases.claim` is the fencing token, and grows with each claim and release: a process that has lost its
 * lease, or given it back, names an older one, or one that is gone, and changes nothing. An attempt is counted
 * when a run begins to be evaluated again (beginAttempt) or ends undecided (releaseRun). Runs that a process had
 * only claimed, or was evaluating together, lose no attempt when it dies. The next time a few of them go together, and
 * each goes alone after that.
 * Statements lock runs before their leases, and several of either in key order, as ingest does.
 */
import type { RunRef, RunState } from '../../model/runs.ts';
import { type Database, onlyRow } from '../database.ts';
import { utcDayOf } from '../sql-times.ts';
import { type ClaimSettings, ClaimTurns } from './claim-turns.ts';
import { ATTEMPTS_MAX, backlogOf, dueRuns, WAITS } from './due-runs.ts';
import { CLAIMED_ROWS, CLAIMED_TO, UNEVALUATED_STEPS } from './late-steps.ts';

/** A lease that is not renewed ends after this; much earlier when its process is dead (processes.ts). */
const LEASE_SECONDS = 300;
/** A released run waits this long times its attempts before it is claimed again. */
const RETRY_DELAY_SECONDS = 10;
/** Bounds one statement; the next claim gives up further ones. */
const GIVE_UP_MAX = 1000;

export interface ClaimedRun extends RunRef {
  /** the fencing token */
  readonly claim: number;
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

const CLAIMED = `, run.workspace_id, run.state, run.attempts, ${CLAIMED_ROWS} AS claimed_rows,
                 ${UNEVALUATED_STEPS} AS steps, run.late_waits, run.first_arrival_at, run.last_arrival_at`;
const LEASE_END = `now() + make_interval(secs => ${LEASE_SECONDS})`;

/**
 * `$3` to `$6` are the turns, column by column; `$7` is their sum, for the planner; `$8` who claims. A claim
 * may begin before another one commits that takes the same run: then the lease is there, and the run is not
 * claimed again.
 */
const CLAIM = `
  WITH due AS MATERIALIZED (
    SELECT run.*, turn.place AS turn
      FROM unnest($3::int[], $4::int[], $5::int[], $6::int[]) WITH ORDINALITY
           AS turn (workspace_id, timed_out, again, fresh, place)
     CROSS JOIN LATERAL (
       SELECT run.*, row_number() OVER () AS round FROM (${KINDS.map(
         ([kind, share]) => `
         SELECT *, ${kind === 'again'} AS was_claimed FROM (
           ${dueRuns(kind, 'turn.workspace_id', `turn.${share}`, CLAIMED)} FOR UPDATE SKIP LOCKED
         ) AS ${share}`,
       ).join(' UNION ALL ')}
       ) AS run
     ) AS run LIMIT $7::int
  ), timed_out AS (
    UPDATE runs AS r SET state = 'timed_out', settles_until = now() FROM due
     WHERE r.workspace_id = due.workspace_id AND r.run_id = due.run_id AND due.state = 'running'
  ), leased AS (
    INSERT INTO leases AS l (workspace_id, run_id, leased_by, lease_until, claimed_to, claimed_rows)
    SELECT workspace_id, run_id, $8::uuid, ${LEASE_END}, ${CLAIMED_TO}, claimed_rows FROM due AS run
        ON CONFLICT (workspace_id, run_id) DO UPDATE
       SET claim = excluded.claim, leased_by = excluded.leased_by, lease_until = excluded.lease_until,
           claimed_to = excluded.claimed_to, claimed_rows = excluded.claimed_rows, claimed_without = NULL
     WHERE l.lease_until < now()
    RETURNING l.workspace_id, l.run_id, l.claim
  )
  SELECT due.workspace_id AS "workspaceId", due.run_id AS "runId", leased.claim::float8 AS claim,
         due.attempts + 1 AS attempt, due.was_claimed OR due.attempts > 0 AS "isRetry",
         CASE WHEN due.state = 'running' THEN 'timed_out' ELSE due.state END AS state,
         ${utcDayOf('due.first_arrival_at')} AS "firstArrivalOn",
         ${utcDayOf('due.last_arrival_at')} AS "lastArrivalOn",
         due.steps, due.late_waits AS "isLate", due.round::int, due.turn::int
    FROM due JOIN leased USING (workspace_id, run_id)`;

/**
 * Leases finished and settled runs; other processes get other runs. A run without a root becomes
 * `timed_out` here, once nothing has arrived for `timeoutMs`. run-times.ts limits for how long
 * arrivals delay either.
 *
 * Workspaces take turns (claim-turns.ts), and of each the longest-waiting runs are claimed.
 * Timed-out runs come first but get at most a quarter (rounded up), so that neither kind starves;
 * for the same reason runs that were claimed before come ahead of fresh ones.
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

/** Sets runs whose last attempt has failed or was lost to `evaluation_failed`; nothing else does. */
export async function giveUpRuns(database: Database): Promise<number> {
  const { rowCount } = await database.query(
    `WITH lost AS (
       SELECT workspace_id, run_id FROM runs AS r
        WHERE ${WAITS} AND attempts >= ${ATTEMPTS_MAX}
          AND NOT EXISTS (SELECT FROM leases AS l
                           WHERE l.workspace_id = r.workspace_id AND l.run_id = r.run_id
                             AND l.lease_until >= now())
        ORDER BY workspace_id, run_id LIMIT ${GIVE_UP_MAX} FOR UPDATE SKIP LOCKED
     ), ended AS (
       DELETE FROM leases AS l USING lost
        WHERE l.workspace_id = lost.workspace_id AND l.run_id = lost.run_id
     )
     UPDATE runs AS r
        SET evaluation = 'evaluation_failed', late_waits = false,
            last_error = coalesce(last_error, 'the lease ran out: the process had ended')
       FROM lost
      WHERE r.workspace_id = lost.workspace_id AND r.run_id = lost.run_id`,
  );
  return rowCount ?? 0;
}

const CLAIMS = `unnest($1::int[], $2::uuid[], $3::bigint[], $4::int[])
                   AS t (workspace_id, run_id, claim, attempt)`;

/** The runs that the caller still has leased, with their leases, locked in key order. */
const ownRuns = (condition = 'true'): string => `
  SELECT r.workspace_id, r.run_id, t.claim, t.attempt
    FROM ${CLAIMS} JOIN runs AS r USING (workspace_id, run_id)
    JOIN leases AS l ON l.workspace_id = r.workspace_id AND l.run_id = r.run_id AND l.claim = t.claim
   WHERE ${WAITS} AND ${condition}
   ORDER BY r.workspace_id, r.run_id FOR UPDATE OF r, l`;

/** The leases that the caller still has, locked in key order. */
const OWN_LEASES = `
  SELECT workspace_id, run_id, attempt FROM ${CLAIMS} JOIN leases AS l USING (workspace_id, run_id, claim)
   ORDER BY workspace_id, run_id FOR UPDATE OF l`;

function keysOf(runs: readonly ClaimedRun[]): unknown[] {
  return [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    runs.map(({ claim }) => claim),
    runs.map(({ attempt }) => attempt),
  ];
}

export async function renewLeases(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  await database.query(
    `UPDATE leases AS l SET lease_until = ${LEASE_END}
       FROM (${OWN_LEASES}) AS own
      WHERE l.workspace_id = own.workspace_id AND l.run_id = own.run_id`,
    keysOf(runs),
  );
}

/**
 * Counts the attempt at runs that are evaluated again: one of them may end the process.
 *
 * @returns those that the caller still has leased
 */
export async function beginAttempt(
  database: Database,
  runs: readonly ClaimedRun[],
): Promise<ClaimedRun[]> {
  const { rows } = await database.query<{ claim: number }>(
    `UPDATE runs AS r SET attempts = own.attempt FROM (${ownRuns()}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id
      RETURNING own.claim::float8 AS claim`,
    keysOf(runs),
  );
  const begun = new Set(rows.map(({ claim }) => claim));
  return runs.filter(({ claim }) => begun.has(claim));
}

/** Keeps the leases of `kept`, which other processes may claim again. */
const keepLeases = (until: string): string => `
  UPDATE leases AS l SET claim = nextval('claims'), leased_by = NULL, lease_until = ${until}
    FROM kept WHERE l.workspace_id = kept.workspace_id AND l.run_id = kept.run_id`;
const DELETE_LEASES = `
  DELETE FROM leases AS l USING own WHERE l.workspace_id = own.workspace_id AND l.run_id = own.run_id`;

/**
 * Requeues runs as if they had not been claimed: their attempt is not counted. For runs whose
 * evaluation did not begin, or ended for a reason outside the run.
 */
export async function requeueRuns(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  if (runs.length === 0) return;
  // Most runs were only claimed: their rows are not touched. Statement by statement, so that no lock of a run is
  // waited for together with a lease's row.
  await database.query(
    `UPDATE runs AS r SET attempts = own.attempt - 1
       FROM (${ownRuns('r.attempts <> t.attempt - 1')}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf(runs),
  );
  await database.query(
    `WITH own AS (${OWN_LEASES}), kept AS (SELECT * FROM own WHERE attempt > 1),
          again AS (${keepLeases("'-infinity'")})
     ${DELETE_LEASES} AND own.attempt = 1`,
    keysOf(runs),
  );
}

/** Releases a run undecided; its attempt counts. @param why a reason of this program, no customers' text */
export async function releaseRun(database: Database, run: ClaimedRun, why: string): Promise<void> {
  await database.query(
    `WITH own AS (${ownRuns()}), kept AS (SELECT * FROM own WHERE attempt < ${ATTEMPTS_MAX}),
          counted AS (
            UPDATE runs AS r SET last_error = $5, attempts = own.attempt FROM own
             WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id),
          again AS (${keepLeases(`now() + make_interval(secs => ${RETRY_DELAY_SECONDS} * kept.attempt)`)})
     ${DELETE_LEASES} AND own.attempt >= ${ATTEMPTS_MAX}`,
    [...keysOf([run]), why],
  );
}

/** Most due runs that are counted of each kind: one statement reads no more entries of an index. */
const BACKLOG_MAX = 100_000;

export interface Backlog {
  /** finished, settled and not leased; at most twice `BACKLOG_MAX` */
  readonly runs: number;
  /** how long the first of them has been due; 0 when none is */
  readonly oldestSeconds: number;
}

export async function readBacklog(database: Database, settleMs: number): Promise<Backlog> {
  return onlyRow(await database.query<Backlog>(backlogOf(BACKLOG_MAX), [settleMs]));
}
