/**
 * Where telemetry is stored: in this database, or distributed over the nodes of a Citus cluster whose
 * coordinator this is (docs/decisions/0018-citus.md). Everything else is on the coordinator, in plain
 * tables.
 */
import { poolOf } from './connection-turns.ts';
import type { Connection, Database, Queryable } from './database.ts';

export type TelemetryPlacement = 'local' | 'distributed';

/**
 * The setting of a transaction that uses one connection to each node, for one shard after the other. By
 * default Citus uses one for each shard, and keeps one: COPY of small batches costs many times its CPU
 * in connections. And statements that change the schema wait for each other over several, until Citus
 * ends their transaction as a distributed deadlock.
 */
export const SEQUENTIAL = { 'citus.multi_shard_modify_mode': 'sequential' } as const;

export async function useOneConnectionPerNode(connection: Connection): Promise<void> {
  const [[name, value] = []] = Object.entries(SEQUENTIAL);
  await connection.query('SELECT set_config($1, $2, true)', [name, value]);
}

/** Looked up once: distributing the tables of a database needs its servers stopped. */
const known = new WeakMap<Database, Promise<TelemetryPlacement>>();

export async function placementOf(database: Database): Promise<TelemetryPlacement> {
  const pool = poolOf(database);
  const before = known.get(pool);
  if (before !== undefined) return await before;
  const looking = lookUp(database);
  known.set(pool, looking);
  try {
    return await looking;
  } catch (error) {
    known.delete(pool);
    throw error;
  }
}

export async function lookUp(database: Queryable): Promise<TelemetryPlacement> {
  const { rows } = await database.query<{ hasCitus: boolean }>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS "hasCitus"`,
  );
  if (rows[0]?.hasCitus !== true) return 'local';
  const found = await database.query(
    `SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('blocks')`,
  );
  return found.rowCount === 0 ? 'local' : 'distributed';
}
