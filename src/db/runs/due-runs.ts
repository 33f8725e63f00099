/**
 * The three ways in which a run becomes due, as SQL. For each there is an index
 * (`migrations/0001-initial.sql`) with the runs of a workspace in the order in which they are claimed.
 *
 *   timed out  no root, and no arrival for RUN_TIMEOUT_MS
 *   again      claimed before; its lease has ended, or it was released
 *   fresh      finished, settled, and has no lease
 *
 * A run that was evaluated and has late steps is due in the last two ways, for these steps.
 *
 * Conditions and order must be the same as in the indexes: otherwise the planner may choose an
 * index that reads all runs of a workspace, including evaluated ones. Leased runs are in the index of finished
 * ones and are skipped: they are few, and first.
 */
import { SETTLES_FROM } from './run-times.ts';

/** Most attempts at a run. The partial indexes on `runs` contain this number too. */
export const ATTEMPTS_MAX = 5;

/** The first two parameters of every statement that uses these conditions, in milliseconds. */
const SETTLE = 'make_interval(secs => $1::float8 / 1000)';
const TIMEOUT = 'make_interval(secs => $2::float8 / 1000)';

export const WAITS = "(evaluation = 'pending' OR late_waits)";

const IS_RUNNING = `evaluation = 'pending' AND state = 'running' AND attempts < ${ATTEMPTS_MAX}`;
const IS_FINISHED = `${WAITS} AND state <> 'running' AND attempts < ${ATTEMPTS_MAX}`;

/**
 * A subquery in an expression is carried out run by run, in the order of the index. The planner takes a truth value
 * of it to be true for half of the runs, but `IS NULL` for one in two hundred: then it expects fewer runs than the
 * limit, and reads and sorts everything that is due.
 */
const HAS_NO_LEASE = `coalesce((SELECT false FROM leases AS l
            WHERE l.workspace_id = run.workspace_id AND l.run_id = run.run_id), true)`;

interface WayToBeDue {
  readonly from: string;
  /** columns of the index, with the condition on them */
  readonly workspace: string;
  readonly order: string;
  readonly waits: string;
  readonly isDue: string;
  /** condition on the first run in index order; false only if no run of the workspace is due */
  readonly isFirstDue: string;
}

export type DueKind = 'timedOut' | 'again' | 'fresh';

const hasTimedOut = `${SETTLES_FROM} <= now() - ${TIMEOUT}`;
const hasSettled = `${SETTLES_FROM} <= now() - ${SETTLE}`;

const DUE: Readonly<Record<DueKind, WayToBeDue>> = {
  timedOut: {
    from: 'runs AS run',
    workspace: 'run.workspace_id',
    order: SETTLES_FROM,
    waits: IS_RUNNING,
    isDue: hasTimedOut,
    isFirstDue: hasTimedOut,
  },
  again: {
    from: 'leases AS lease JOIN runs AS run USING (workspace_id, run_id)',
    workspace: 'lease.workspace_id',
    order: `lease_until, ${SETTLES_FROM}`,
    waits: IS_FINISHED,
    isDue: `lease_until < now() AND ${hasSettled}`,
    isFirstDue: 'lease_until < now()',
  },
  fresh: {
    from: 'runs AS run',
    workspace: 'run.workspace_id',
    order: SETTLES_FROM,
    waits: `${IS_FINISHED} AND ${HAS_NO_LEASE}`,
    isDue: hasSettled,
    isFirstDue: hasSettled,
  },
};

export const dueRuns = (kind: DueKind, workspace: string, limit: string, columns = ''): string => `
  SELECT run.run_id${columns} FROM ${DUE[kind].from}
   WHERE ${DUE[kind].workspace} = ${workspace} AND ${DUE[kind].waits} AND ${DUE[kind].isDue}
   ORDER BY ${DUE[kind].order} LIMIT ${limit}`;

export const nextWorkspace = (kind: DueKind, after: string, when: string): string => {
  const { from, workspace, waits, order, isFirstDue } = DUE[kind];
  // The lease alone decides in which order runs are claimed again.
  const [table, condition, first] =
    kind === 'again' ? ['leases AS lease', 'true', 'lease_until'] : [from, waits, order];
  return `
  SELECT ${workspace} AS id, ${isFirstDue} AS due FROM ${table}
   WHERE ${when} AND ${workspace} > ${after} AND ${condition}
   ORDER BY ${workspace}, ${first} LIMIT 1`;
};

const dueFrom = (kind: DueKind, limit: number): string => `
  (SELECT ${SETTLES_FROM} AS "from" FROM ${DUE[kind].from}
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

/** Finished runs of a workspace that wait, due or not, in the order in which they become due. */
export const waitingRuns = (workspace: string, limit: string): string => `
  (SELECT last_arrival_at FROM runs
    WHERE workspace_id = ${workspace} AND ${IS_FINISHED}
    ORDER BY ${SETTLES_FROM} LIMIT ${limit})`;
