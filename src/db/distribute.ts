/**
 * Distributes the telemetry of a database over the workers of a Citus cluster
 * (docs/decisions/0018-citus.md): `sluice migrate --citus`, or the first start of a server on a cluster.
 *
 *   hot_blocks, blocks   hashed by block_id
 *   hot_places, places   hashed by run_id: those of a run are on one shard
 *   everything else      plain tables of the coordinator
 */
import { OperatorError } from '../errors.ts';
import {
  type Connection,
  type Database,
  inTransaction,
  limitedStatement,
  onlyRow,
  type Queryable,
} from './database.ts';
import { SCHEMA_LOCK } from './migrate.ts';
import { lookUp, useOneConnectionPerNode } from './placement.ts';
import { livingProcesses } from './runs/processes.ts';

/**
 * Unless another number is given: as many workers can be added. Each batch is one COPY for each shard
 * that has rows of it: with 16 shards on two workers PostgreSQL takes a quarter more CPU time (docs/citus.md).
 */
export const SHARDS_PER_WORKER = 2;
export const SHARDS_MAX = 256;
/** Rows that are there are copied to their shards. */
const TIMEOUT_MS = 6 * 3_600_000;
/** Earlier ones were not tried. */
const CITUS_MIN = 12;

export interface Distribution {
  /** false: they were distributed before */
  readonly isNew: boolean;
  readonly workers: number;
  readonly shards: number;
}

export function describeDistribution({ isNew, workers, shards }: Distribution): string {
  const what = isNew ? 'Telemetry is now distributed' : 'Telemetry was distributed before';
  return `${what}: ${shards} shards, on ${workers} workers.`;
}

interface Cluster {
  readonly version: string;
  readonly isCoordinator: boolean;
  readonly workers: number;
}

async function citusVersion(database: Queryable): Promise<string | null> {
  const { rows } = await database.query<{ version: string }>(
    `SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'`,
  );
  return rows[0]?.version ?? null;
}

async function findCluster(database: Queryable): Promise<Cluster | null> {
  const version = await citusVersion(database);
  if (version === null) return null;
  const { rows } = await database.query<Omit<Cluster, 'version'>>(
    `SELECT (SELECT groupid = 0 FROM pg_dist_local_group) AS "isCoordinator",
            (SELECT count(*)::int FROM pg_dist_node
              WHERE groupid <> 0 AND noderole = 'primary' AND isactive AND shouldhaveshards) AS workers`,
  );
  return { version, isCoordinator: true, workers: 0, ...rows[0] };
}

/** Checks that a connection does not lead to a worker, which lacks most tables. @throws {OperatorError} */
export async function requireCoordinator(database: Database): Promise<void> {
  const cluster = await findCluster(database);
  if (cluster === null || cluster.isCoordinator) return;
  throw new OperatorError(
    'DATABASE_URL leads to a worker of a Citus cluster: it must name the coordinator',
  );
}

function requireUsable(cluster: Cluster | null): Cluster {
  if (cluster === null) {
    throw new OperatorError(
      'The database has no Citus: CREATE EXTENSION citus on every node, and add the workers with ' +
        'citus_add_node (docs/citus.md)',
    );
  }
  if (Number.parseInt(cluster.version, 10) < CITUS_MIN) {
    throw new OperatorError(`Citus ${CITUS_MIN} or newer is required; this is ${cluster.version}`);
  }
  if (cluster.workers === 0) {
    throw new OperatorError(
      'The Citus cluster has no workers: add them with citus_add_node (docs/citus.md)',
    );
  }
  return cluster;
}

const DISTRIBUTED_TABLES = [
  ['blocks', 'block_id'],
  ['hot_blocks', 'block_id'],
  ['hot_places', 'run_id'],
  ['places', 'run_id'],
] as const;

async function distributeTables(connection: Connection, shards: number): Promise<void> {
  const run = (sql: string) => connection.query(limitedStatement(sql, TIMEOUT_MS));
  for (const [table, column] of DISTRIBUTED_TABLES) {
    const how =
      table === 'blocks'
        ? `shard_count => ${shards}, colocate_with => 'none'`
        : `colocate_with => 'blocks'`;
    await run(`SELECT create_distributed_table('${table}', '${column}', ${how})`);
  }
  // Also clears what the tables held before they were distributed.
  for (const [table] of DISTRIBUTED_TABLES) {
    await run(`SELECT truncate_local_data_after_distributing_table('${table}')`);
  }
}

async function distribution(connection: Connection, isNew: boolean): Promise<Distribution> {
  const cluster = await findCluster(connection);
  const { rows } = await connection.query<{ shards: number }>(
    `SELECT count(*)::int AS shards FROM pg_dist_shard WHERE logicalrelid = 'blocks'::regclass`,
  );
  return { isNew, workers: cluster?.workers ?? 0, shards: rows[0]?.shards ?? 0 };
}

/** Distributes the telemetry. @throws {OperatorError} also when servers run: each remembers the placement */
export async function distribute(database: Database, shards?: number): Promise<Distribution> {
  const { workers } = requireUsable(await findCluster(database));
  return await inTransaction(
    database,
    async (connection) => {
      await connection.query(`SET LOCAL statement_timeout = ${TIMEOUT_MS}`);
      await connection.query(limitedStatement(SCHEMA_LOCK, TIMEOUT_MS));
      if ((await lookUp(connection)) === 'distributed')
        return await distribution(connection, false);
      if ((await livingProcesses(connection)) > 0) {
        throw new OperatorError(
          'Servers are running on this database: stop all of them before its tables are distributed',
        );
      }
      await useOneConnectionPerNode(connection);
      const number = shards ?? Math.min(SHARDS_PER_WORKER * workers, SHARDS_MAX);
      await distributeTables(connection, number);
      return await distribution(connection, true);
    },
    TIMEOUT_MS,
  );
}

/** At the start of a server: distributes a database without telemetry on a cluster with workers. */
export async function distributeIfEmpty(
  database: Database,
): Promise<Distribution | 'has telemetry' | null> {
  const cluster = await findCluster(database);
  if (cluster === null || cluster.workers === 0) return null;
  if ((await lookUp(database)) === 'distributed') return null;
  const { rows } = await database.query<{ hasRows: boolean }>(
    `SELECT EXISTS (SELECT FROM hot_blocks) OR EXISTS (SELECT FROM blocks) AS "hasRows"`,
  );
  const isUsed = rows[0]?.hasRows === true || (await livingProcesses(database)) > 0;
  return isUsed ? 'has telemetry' : await distribute(database);
}

/** Coordinator, workers and settings (docs/citus.md), which `sluice doctor` judges. */
export interface CitusFacts {
  readonly version: string;
  /** false: the connection leads to a worker */
  readonly isCoordinator: boolean;
  /** host and port of workers that may have shards */
  readonly workers: readonly { readonly name: string; readonly answers: boolean }[];
  /** how often transactions that a lost worker left prepared are ended */
  readonly recoverySeconds: number;
  /** of the table of blocks: 0 when it is not distributed, null when it does not exist */
  readonly shards: number | null;
}

/** @returns null for plain PostgreSQL */
export async function readCitusFacts(database: Queryable): Promise<CitusFacts | null> {
  const version = await citusVersion(database);
  if (version === null) return null;
  const facts = onlyRow(
    await database.query<Omit<CitusFacts, 'version'>>(
      `SELECT (SELECT groupid = 0 FROM pg_dist_local_group) AS "isCoordinator",
            (SELECT coalesce(json_agg(json_build_object(
                'name', nodename || ':' || nodeport,
                'answers', citus_check_connection_to_node(nodename, nodeport)) ORDER BY nodeid), '[]')
               FROM pg_dist_node
              WHERE groupid <> 0 AND noderole = 'primary' AND shouldhaveshards) AS workers,
            (SELECT setting::float8 / 1000 FROM pg_settings
              WHERE name = 'citus.recover_2pc_interval') AS "recoverySeconds",
            (SELECT count(shardid)::int
               FROM (SELECT to_regclass('blocks') AS oid) AS blocks
               LEFT JOIN pg_dist_shard ON logicalrelid = blocks.oid
             HAVING max(blocks.oid::oid) IS NOT NULL) AS shards`,
    ),
  );
  return { version, ...facts };
}
