/**
 * Deletes old runs, each together with its findings or not at all: a run without its findings would
 * look clean. A run is kept while
 *
 * - one of its steps may be there,
 * - it waits for its evaluation,
 * - one of its findings is younger than findings are kept, or somebody works on it.
 *
 * The deletion (ids, history and states of findings, undelivered alerts) leaves the ledger alone.
 */
import type { Hex16 } from '../../model/json.ts';
import type { Connection } from '../database.ts';
import { fromMicros, toMicros } from '../sql-times.ts';
import { BATCH_ROWS, type DeletionTurn } from './deletion.ts';

/** Runs and findings that began before these moments are outdated; null keeps all findings. */
export interface OutdatedBefore {
  readonly runs: Date;
  readonly findings: Date | null;
}

export interface DeletedRuns {
  readonly runs: number;
  readonly findings: number;
}

interface Place {
  readonly workspaceId: number;
  readonly atMicros: string;
  readonly runId: Hex16;
}

const NOTHING: DeletedRuns = { runs: 0, findings: 0 };

const IS_OVER = `r.last_arrival_at < $1 AND NOT r.late_waits AND r.evaluation <> 'pending'`;

/**
 * A run whose findings are all outdated. Somebody works on a finding that is acknowledged or confirmed, or
 * assigned and not decided.
 */
const IS_OUTDATED = `${IS_OVER} AND NOT EXISTS (
    SELECT FROM findings f
      LEFT JOIN finding_states s ON s.workspace_id = f.workspace_id AND s.finding_id = f.id
     WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id
       AND (f.created_at >= $2 OR s.state IN ('acknowledged', 'confirmed')
            OR (s.state = 'new' AND s.assignee_id IS NOT NULL)))`;

/**
 * Deletes the runs of a page that have no findings, the oldest page first. Rows are found by their places, which
 * are beside each other: by their ids, each would be elsewhere in an index. A run that another transaction has
 * locked is kept: ingest, which may be adding a step, is not waited for. A run that is over gets no finding
 * unless it gets a step first, which changes its row.
 */
const DELETE_PAGE = `
  WITH page AS MATERIALIZED (
    SELECT r.ctid AS place, r.run_id, r.first_arrival_at, ${IS_OVER} AS is_over,
           EXISTS (SELECT FROM findings f
                    WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id) AS has_findings
      FROM (SELECT ctid, workspace_id, run_id, first_arrival_at, last_arrival_at, evaluation, late_waits
              FROM runs
             WHERE workspace_id = $2 AND first_arrival_at < $1
               AND ($3::bigint IS NULL
                    OR (first_arrival_at, run_id) > (${fromMicros('$3')}, $4::uuid))
             ORDER BY first_arrival_at, run_id LIMIT ${BATCH_ROWS}) AS r
  ), free AS MATERIALIZED (
    SELECT r.ctid AS place FROM runs r
     WHERE r.ctid = ANY (ARRAY(SELECT place FROM page WHERE is_over AND NOT has_findings))
       AND ${IS_OVER} FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM runs WHERE ctid = ANY (ARRAY(SELECT place FROM free)) RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM page) AS read, (SELECT count(*)::int FROM gone) AS deleted,
         ARRAY(SELECT run_id FROM page WHERE is_over AND has_findings) AS "withFindings",
         last.run_id AS "runId", ${toMicros('last.first_arrival_at')} AS "atMicros"
    FROM (SELECT 1) AS always
    LEFT JOIN (SELECT * FROM page ORDER BY first_arrival_at DESC, run_id DESC LIMIT 1) AS last ON true`;

const SLICE_WORKSPACES = 1000;
/** LATERAL with LIMIT looks into the index once for each workspace. */
const SLICE = `
  SELECT id, old.workspace_id IS NOT NULL AS "hasOld"
    FROM (SELECT id FROM workspaces WHERE id >= $2 ORDER BY id LIMIT ${SLICE_WORKSPACES}) AS w
    LEFT JOIN LATERAL (
      SELECT workspace_id FROM runs WHERE workspace_id = w.id AND first_arrival_at < $1
       ORDER BY first_arrival_at LIMIT 1) AS old ON true
   ORDER BY id`;

/** Ingest, which may be adding a step, and the pass are not waited for. */
const LOCK_RUNS = `
  SELECT r.run_id AS "runId" FROM runs r
   WHERE r.workspace_id = $1 AND r.run_id = ANY ($2::uuid[]) FOR UPDATE SKIP LOCKED`;
const OF_RUNS = `
  SELECT id, run_id AS "runId" FROM findings WHERE workspace_id = $1 AND run_id = ANY ($2::uuid[])`;
/** After the locks were taken, it sees what was committed before, and nothing can change since. */
const OUTDATED = `
  SELECT r.run_id AS "runId" FROM runs r
   WHERE r.workspace_id = $3 AND r.run_id = ANY ($4::uuid[]) AND ${IS_OUTDATED}`;

interface SliceRow {
  readonly id: number;
  readonly hasOld: boolean;
}
interface PageRow {
  readonly read: number;
  readonly deleted: number;
  readonly withFindings: readonly Hex16[];
  /** the last run of the page; null where it has none */
  readonly runId: Hex16 | null;
  readonly atMicros: string | null;
}
interface RunRow {
  readonly runId: Hex16;
}
interface FindingRow extends RunRow {
  readonly id: Hex16;
}

export class OutdatedRuns {
  /** where the next turn begins: one that took too long ended there */
  #place: Place | null = null;

  async delete(turn: DeletionTurn, before: OutdatedBefore): Promise<DeletedRuns> {
    let total = NOTHING;
    let from = this.#place?.workspaceId ?? 0;
    while (!turn.isOver) {
      const slice = await turn.database.query<SliceRow>(SLICE, [before.runs, from]);
      const last = slice.rows.at(-1);
      if (last === undefined) {
        this.#place = null;
        return total;
      }
      for (const { id } of slice.rows.filter(({ hasOld }) => hasOld)) {
        const { isOver, runs, findings } = await this.#deleteOf(turn, id, before);
        total = { runs: total.runs + runs, findings: total.findings + findings };
        if (isOver) return total;
      }
      from = last.id + 1;
    }
    return total;
  }

  /** `isOver`: the turn has ended, or another process deletes. */
  async #deleteOf(
    turn: DeletionTurn,
    workspaceId: number,
    before: OutdatedBefore,
  ): Promise<DeletedRuns & { readonly isOver: boolean }> {
    let total = NOTHING;
    if (this.#place?.workspaceId !== workspaceId) this.#place = null;
    while (!turn.isOver) {
      const batch = await turn.batch((connection) =>
        this.#deleteBatch(connection, workspaceId, before),
      );
      if (batch === null) break;
      total = { runs: total.runs + batch.runs, findings: total.findings + batch.findings };
      if (batch.isLast) return { ...total, isOver: false };
    }
    return { ...total, isOver: true };
  }

  async #deleteBatch(
    connection: Connection,
    workspaceId: number,
    before: OutdatedBefore,
  ): Promise<DeletedRuns & { readonly isLast: boolean }> {
    const place = this.#place;
    const { rows } = await connection.query<PageRow>(DELETE_PAGE, [
      before.runs,
      workspaceId,
      place?.atMicros ?? null,
      place?.runId ?? null,
    ]);
    const { read = 0, deleted = 0, withFindings = [], runId, atMicros } = rows[0] ?? {};
    const more =
      withFindings.length === 0
        ? NOTHING
        : await deleteWithFindings(connection, workspaceId, withFindings, before);
    const isLast = read < BATCH_ROWS || runId == null || atMicros == null;
    this.#place = isLast ? null : { workspaceId, atMicros, runId };
    return { runs: deleted + more.runs, findings: more.findings, isLast };
  }
}

async function deleteWithFindings(
  connection: Connection,
  workspaceId: number,
  runIds: readonly Hex16[],
  before: OutdatedBefore,
): Promise<DeletedRuns> {
  if (before.findings === null) return NOTHING;
  const { rows } = await connection.query<RunRow>(OUTDATED, [
    before.runs,
    before.findings,
    workspaceId,
    runIds,
  ]);
  if (rows.length === 0) return NOTHING;
  const outdated = rows.map(({ runId }) => runId);
  return await deleteRuns(connection, workspaceId, outdated, before);
}

/** @param runIds of runs that were outdated when nothing was locked yet */
async function deleteRuns(
  connection: Connection,
  workspaceId: number,
  runIds: readonly Hex16[],
  before: OutdatedBefore,
): Promise<DeletedRuns> {
  const locked = await connection.query<RunRow>(LOCK_RUNS, [workspaceId, runIds]);
  const lockedIds = locked.rows.map(({ runId }) => runId);
  const values = [workspaceId, lockedIds];
  // A run that is evaluated gets no further findings. One whose finding somebody is changing is kept.
  const all = await connection.query<FindingRow>(OF_RUNS, values);
  const free = await connection.query<FindingRow>(`${OF_RUNS} FOR UPDATE SKIP LOCKED`, values);
  const freeIds = new Set(free.rows.map(({ id }) => id));
  const busy = new Set(all.rows.filter(({ id }) => !freeIds.has(id)).map(({ runId }) => runId));
  const still = await connection.query<RunRow>(OUTDATED, [
    before.runs,
    before.findings,
    workspaceId,
    lockedIds.filter((runId) => !busy.has(runId)),
  ]);
  const going = new Set(still.rows.map(({ runId }) => runId));
  const findings = free.rows.filter(({ runId }) => going.has(runId)).map(({ id }) => id);
  if (findings.length > 0) {
    await connection.query(
      'DELETE FROM alert_outbox WHERE workspace_id = $1 AND finding_id = ANY ($2::uuid[])',
      [workspaceId, findings],
    );
    await connection.query(
      'DELETE FROM findings WHERE workspace_id = $1 AND id = ANY ($2::uuid[])',
      [workspaceId, findings],
    );
  }
  await connection.query('DELETE FROM runs WHERE workspace_id = $1 AND run_id = ANY ($2::uuid[])', [
    workspaceId,
    [...going],
  ]);
  return { runs: going.size, findings: findings.length };
}
