/**
 * The processes that evaluate runs, each with a row that it renews every few seconds (a heartbeat), so
 * that others know when it is dead and end its leases. All times are PostgreSQL's. A row and not a
 * session's lock: it outlives a lost connection, a failover, and a pooler that shares sessions.
 *
 *   register ──► row added, with what the process reads (`../telemetry/new-blocks.ts`)
 *   beat, beat, beat ──silent for DEAD_AFTER_SECONDS──► endLeasesOfDead: row deleted, its runs are due
 *                    ──leave──► row deleted
 *
 * A process that was only paused comes back with its next beat. What it had claimed and another has
 * claimed meanwhile, it can no longer complete (the fencing token in evaluation-queue.ts).
 */
import type { RunRef } from '../../model/runs.ts';
import {
  type Database,
  inTransaction,
  limitedStatement,
  onlyRow,
  type Queryable,
} from '../database.ts';
import { BROTLI, READS_ZSTD } from '../telemetry/codecs.ts';
import { lockCodec } from '../telemetry/new-blocks.ts';

/** A process that was silent for this long counts as dead. */
const DEAD_AFTER_SECONDS = 15;
const LEAVE_TIMEOUT_MS = 2000;

const IS_DEAD = `seen_at < now() - interval '${DEAD_AFTER_SECONDS} seconds'`;

/** Adds the row of a process. Returns the codec of new blocks. @throws {OperatorError} if it cannot read it */
export async function register(
  database: Database,
  processId: string,
  readsZstd: boolean,
): Promise<number> {
  return await inTransaction(database, async (connection) => {
    const codec = await lockCodec(connection, readsZstd);
    await connection.query(
      `INSERT INTO processes (id, seen_at, reads_zstd) VALUES ($1, now(), $2)
       ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
      [processId, readsZstd],
    );
    return codec;
  });
}

export interface Beat {
  readonly hasDead: boolean;
  readonly codec: number;
  /** whether new blocks have brotli, and every process reads zstd */
  readonly maySwitch: boolean;
}

/** Renews the row of a process. Registers it when it has no row: it is new, or others took it for dead. */
export async function beat(
  database: Database,
  processId: string,
  readsZstd = READS_ZSTD,
): Promise<Beat> {
  const { isKnown, ...found } = onlyRow(
    await database.query<Beat & { readonly isKnown: boolean }>(
      `WITH beat AS (UPDATE processes SET seen_at = now() WHERE id = $1 RETURNING id)
       SELECT EXISTS (SELECT FROM beat) AS "isKnown",
              EXISTS (SELECT FROM processes WHERE id <> $1 AND ${IS_DEAD}) AS "hasDead",
              codec,
              codec = ${BROTLI} AND NOT EXISTS (SELECT FROM processes WHERE NOT reads_zstd)
                AS "maySwitch"
         FROM new_blocks`,
      [processId],
    ),
  );
  if (isKnown) return found;
  const codec = await register(database, processId, readsZstd);
  // A process that reads brotli only has a row now.
  return { ...found, codec, maySwitch: found.maySwitch && readsZstd };
}

export async function livingProcesses(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ living: number }>(
    `SELECT count(*)::int AS living FROM processes WHERE NOT (${IS_DEAD})`,
  );
  return rows[0]?.living ?? 0;
}

export interface DeadProcesses {
  readonly processes: number;
  /** runs that are due again; none has lost an attempt */
  readonly runs: number;
}

/**
 * Ends the leases of dead processes. Statement by statement, so that locks of one are not held while
 * another waits; the rows of the dead go last, so that what fails is done again.
 */
export async function endLeasesOfDead(database: Database): Promise<DeadProcesses> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT id FROM processes WHERE ${IS_DEAD}`,
  );
  const ids = rows.map(({ id }) => id);
  const runs = await endLeases(database, ids);
  const { rowCount: processes } = await database.query(
    `DELETE FROM processes WHERE id = ANY ($1::uuid[]) AND ${IS_DEAD}`,
    [ids],
  );
  return { processes: processes ?? 0, runs };
}

/** Ends a living process's leases on runs that it does not know: the answer to a claim was lost. */
export async function endForgottenLeases(
  database: Database,
  processId: string,
  known: readonly RunRef[],
): Promise<number> {
  return await endLeases(database, [processId], known);
}

async function endLeases(
  database: Database,
  processIds: readonly string[],
  except: readonly RunRef[] = [],
): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE leases AS l SET lease_until = now(), leased_by = NULL
       FROM (SELECT workspace_id, run_id FROM leases
              WHERE leased_by = ANY ($1::uuid[])
                AND (workspace_id, run_id) NOT IN (SELECT * FROM unnest($2::int[], $3::uuid[]))
              ORDER BY workspace_id, run_id FOR UPDATE) AS own
      WHERE l.workspace_id = own.workspace_id AND l.run_id = own.run_id`,
    [processIds, except.map(({ workspaceId }) => workspaceId), except.map(({ runId }) => runId)],
  );
  return rowCount ?? 0;
}

/** Removes the row of a process that has no lease any more. A stop waits for this. */
export async function leave(database: Database, processId: string): Promise<void> {
  const statement = limitedStatement('DELETE FROM processes WHERE id = $1', LEAVE_TIMEOUT_MS);
  await database.query(statement, [processId]);
}
