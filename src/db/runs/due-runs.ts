/**
 * The three ways in which a run becomes due, as SQL. For each there is a partial index on `runs`
 * (`migrations/0001-initial.sql`) with the runs of a workspace in the order in which they are claimed.
 *
 *   timed out  no root, and no arrival for RUN_TIMEOUT_MS
 *   again      claimed before; its lease has ended, or it was released
 *   fresh      finished, settled, and never claimed or requeued since
 *
 * A run that was evaluated and has late steps is due in the last two ways, for these steps.
 *
 * Conditions and order must be the same as in the indexes: otherwise the planner may choose an
 * index that reads all runs of a workspace, including evaluated ones.
 */
import { SETTLES_FROM } from './run-times.ts';

/** Most attempts at a run. The partial indexes on `runs` contain this number too. */
export const ATTEMPTS_MAX = 5;

/** The first two parameters of every statement that uses these conditions, in milliseconds. */
const SETTLE = 'make_interval(secs => $1::float8 / 1000)';
const TIMEOUT = 'make_interval(secs => $2::float8 / 1000)';
const LEASE_END = `coalesce(lease_until, '-infinity')`;

/** The condition on runs that wait for an evaluation, or for one of their late steps. */
export const WAITS = "(evaluation = 'pending' OR late_waits)";

/** The condition on runs that are leased, or were and have been released. */
export const WAS_CLAIMED = `${WAITS} AND (attempts > 0 OR lease_until IS NOT NULL)`;

interface WayToBeDue {
  /** the index's condition */
  readonly waits: string;
  /** the index's columns after the workspace */
  readonly order: string;
  readonly isDue: string;
  /** condition on the first run in index order; false only if no run of the workspace is due */
  readonly isFirstDue: string;
}

export type DueKind = 'timedOut' | 'again' | 'fresh';

const hasTimedOut = `${SETTLES_FROM} <= now() - ${TIMEOUT}`;
const hasSettled = `${SETTLES_FROM} <= now() - ${SETTLE}`;

const DUE: Readonly<Record<DueKind, WayToBeDue>> = {
  timedOut: {
    waits: `evaluation = 'pending' AND state = 'running' AND attempts < ${ATTEMPTS_MAX}`,
    order: SETTLES_FROM,
    isDue: hasTimedOut,
    isFirstDue: hasTimedOut,
  },
  again: {
    waits: `${WAS_CLAIMED} AND state <> 'running' AND attempts < ${ATTEMPTS_MAX}`,
    order: `${LEASE_END}, ${SETTLES_FROM}`,
    isDue: `${LEASE_END} < now() AND ${hasSettled}`,
    isFirstDue: `${LEASE_END} < now()`,
  },
  fresh: {
    waits: `${WAITS} AND state <> 'running' AND attempts = 0 AND lease_until IS NULL`,
    order: SETTLES_FROM,
    isDue: hasSettled,
    isFirstDue: hasSettled,
  },
};

/** Runs of a workspace that are due in one way, the longest-waiting first. */
export const dueRuns = (kind: DueKind, workspace: string, limit: string): string => `
  SELECT workspace_id, run_id FROM runs
   WHERE workspace_id = ${workspace} AND ${DUE[kind].waits} AND ${DUE[kind].isDue}
   ORDER BY ${DUE[kind].order} LIMIT ${limit}`;

/** The next workspace after `after` with a run waiting in one way, and whether that run is due. */
export const nextWorkspace = (kind: DueKind, after: string, when: string): string => `
  SELECT workspace_id AS id, ${DUE[kind].isFirstDue} AS due FROM runs
   WHERE ${when} AND workspace_id > ${after} AND ${DUE[kind].waits}
   ORDER BY workspace_id, ${DUE[kind].order} LIMIT 1`;

/** Runs of all workspaces that are due in one way, with the moment from which each waits. */
const dueFrom = (kind: DueKind, limit: number): string => `
  (SELECT ${SETTLES_FROM} AS "from" FROM runs
    WHERE ${DUE[kind].waits} AND ${DUE[kind].isDue} LIMIT ${limit})`;

/**
 * How many finished runs of all workspaces are due and not leased, at most `limit` of each kind, and
 * for how many seconds the first of them has been due.
 */
export const backlogOf = (limit: number): string => `
  SELECT count(*)::int AS runs,
         greatest(0, coalesce(extract(epoch FROM now() - ${SETTLE} - min("from")), 0))::float8
           AS "oldestSeconds"
    FROM (${dueFrom('fresh', limit)} UNION ALL ${dueFrom('again', limit)}) AS due`;

/** Runs of a workspace that wait in one way, due or not, in the order in which they become due. */
export const waitingRuns = (kind: DueKind, workspace: string, limit: string): string => `
  (SELECT last_arrival_at FROM runs
    WHERE workspace_id = ${workspace} AND ${DUE[kind].waits}
    ORDER BY ${DUE[kind].order} LIMIT ${limit})`;
