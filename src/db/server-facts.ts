/**
 * Facts of a PostgreSQL server: version, settings, connections, privileges, checkpoints and
 * replication, and of this database its migrations and partitions. Reads only; `sluice doctor`
 * judges it.
 */
import { onlyRow, type Queryable } from './database.ts';
import { type HistoryFault, historyFault, loadMigrations } from './migrate.ts';
import { DAILY_TABLES, partitionName, utcDay, utcHour } from './telemetry/partitions.ts';
import { RECEIPTS, receiptPeriods } from './telemetry/receipts.ts';

/** SQL of the identity of a database and its cluster; a standby has the one of its primary. */
export const IDENTITY = `(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database()`;

export async function readIdentity(database: Queryable): Promise<string> {
  return onlyRow(await database.query<{ identity: string }>(`SELECT ${IDENTITY} AS identity`))
    .identity;
}

const DAY_MS = 86_400_000;
/** pg_stat_bgwriter had the counts of checkpoints before. */
const CHECKPOINTER_SINCE = 170_000;
const REPLICAS_MAX = 20;

export interface ServerSettings {
  readonly version: number;
  readonly versionName: string;
  readonly encoding: string;
  readonly isStandby: boolean;
  readonly readOnly: boolean;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly synchronousCommit: string;
  readonly synchronousStandbys: string;
  readonly autovacuum: boolean;
  readonly dataChecksums: boolean;
  readonly walInitZero: boolean;
  readonly maxWalBytes: number;
  readonly sharedBufferBytes: number;
  readonly checkpointSeconds: number;
  readonly databaseBytes: number;
}

export interface ServerConnections {
  /** of all roles but those that may use the reserved ones */
  readonly allowed: number;
  readonly used: number;
  /** of this role and of this database; null: no separate limit */
  readonly roleLimit: number | null;
  readonly databaseLimit: number | null;
}

export interface ServerCheckpoints {
  readonly timed: number;
  /** because `max_wal_size` was reached, or by commands: CHECKPOINT, CREATE DATABASE, backups */
  readonly requested: number;
  readonly walBytesPerSecond: number;
  /** since checkpoints are counted, at that average */
  readonly walBytes: number;
}

export interface ServerReplica {
  readonly name: string;
  readonly state: string | null;
  readonly syncState: string | null;
  readonly lagSeconds: number;
}

export interface ServerSlot {
  readonly name: string;
  readonly active: boolean;
  readonly retainedBytes: number;
}

export interface SchemaFacts {
  readonly missingMigrations: readonly string[];
  /** why this version cannot use the database */
  readonly historyFault: HistoryFault | null;
  readonly missingPartitions: readonly string[];
}

export interface ServerPrivileges {
  readonly role: string;
  readonly mayCreate: boolean;
  readonly isSuperuser: boolean;
  /** tables of Sluice that belong to another role, so that partitions cannot be attached */
  readonly foreignTables: readonly string[];
}

async function firstRow<T extends object>(database: Queryable, sql: string): Promise<T> {
  return onlyRow(await database.query<T>(sql));
}

export async function readServerSettings(database: Queryable): Promise<ServerSettings> {
  const setting = (name: string): string => `current_setting('${name}')`;
  const isOn = (name: string): string => `${setting(name)} = 'on'`;
  return await firstRow<ServerSettings>(
    database,
    `SELECT ${setting('server_version_num')}::int AS version,
            ${setting('server_version')} AS "versionName",
            ${setting('server_encoding')} AS encoding,
            pg_is_in_recovery() AS "isStandby",
            ${isOn('default_transaction_read_only')} AS "readOnly",
            ${isOn('fsync')} AS fsync,
            ${isOn('full_page_writes')} AS "fullPageWrites",
            ${setting('synchronous_commit')} AS "synchronousCommit",
            ${setting('synchronous_standby_names')} AS "synchronousStandbys",
            ${isOn('autovacuum')} AS autovacuum,
            ${isOn('data_checksums')} AS "dataChecksums",
            ${isOn('wal_init_zero')} AS "walInitZero",
            pg_size_bytes(${setting('max_wal_size')})::float8 AS "maxWalBytes",
            pg_size_bytes(${setting('shared_buffers')})::float8 AS "sharedBufferBytes",
            (SELECT setting::int FROM pg_settings WHERE name = 'checkpoint_timeout')
              AS "checkpointSeconds",
            pg_database_size(current_database())::float8 AS "databaseBytes"`,
  );
}

export async function readServerConnections(database: Queryable): Promise<ServerConnections> {
  return await firstRow<ServerConnections>(
    database,
    `SELECT current_setting('max_connections')::int
              - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0) AS allowed,
            (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend')
              AS used,
            (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)
              AS "roleLimit",
            (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
              AS "databaseLimit"`,
  );
}

export async function readCheckpoints(
  database: Queryable,
  version: number,
): Promise<ServerCheckpoints> {
  const counts =
    version >= CHECKPOINTER_SINCE
      ? 'num_timed AS timed, num_requested AS requested, stats_reset FROM pg_stat_checkpointer'
      : 'checkpoints_timed AS timed, checkpoints_req AS requested, stats_reset FROM pg_stat_bgwriter';
  const seconds = (since: string): string => `greatest(1, extract(epoch FROM now() - ${since}))`;
  return await firstRow<ServerCheckpoints>(
    database,
    `SELECT timed::float8, requested::float8, rate::float8 AS "walBytesPerSecond",
            (rate * ${seconds('stats_reset')})::float8 AS "walBytes"
       FROM (SELECT ${counts}) AS checkpoints,
            (SELECT wal_bytes / ${seconds('stats_reset')} AS rate FROM pg_stat_wal) AS wal`,
  );
}

/** Standbys that receive WAL, and replication slots that keep it. Of a primary only. */
export async function readReplication(
  database: Queryable,
): Promise<{ replicas: ServerReplica[]; slots: ServerSlot[] }> {
  const { rows: replicas } = await database.query<ServerReplica>(
    `SELECT application_name AS name, state, sync_state AS "syncState",
            coalesce(extract(epoch FROM replay_lag), 0)::float8 AS "lagSeconds"
       FROM pg_stat_replication ORDER BY application_name LIMIT ${REPLICAS_MAX}`,
  );
  const { rows: slots } = await database.query<ServerSlot>(
    `SELECT slot_name::text AS name, active,
            coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::float8
              AS "retainedBytes"
       FROM pg_replication_slots WHERE NOT temporary ORDER BY slot_name LIMIT ${REPLICAS_MAX}`,
  );
  return { replicas, slots };
}

export async function readPrivileges(database: Queryable): Promise<ServerPrivileges> {
  const { rows } = await database.query<Omit<ServerPrivileges, 'foreignTables'>>(
    `SELECT current_user AS role, rolsuper AS "isSuperuser",
            coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS "mayCreate"
       FROM pg_roles WHERE rolname = current_user`,
  );
  const { rows: foreign } = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
      WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p')
        AND relname = ANY ($1::text[]) AND NOT pg_has_role(relowner, 'USAGE')
      ORDER BY relname`,
    [[...DAILY_TABLES, RECEIPTS, 'runs', 'findings', 'schema_migrations']],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL answered without a row');
  return { ...row, foreignTables: foreign.map(({ name }) => name) };
}

/** Migrations and partitions that are missing; null when the database is empty. */
export async function readSchema(database: Queryable, nowMs: number): Promise<SchemaFacts | null> {
  const { there } = await firstRow<{ there: boolean }>(
    database,
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS there",
  );
  if (!there) return null;
  const { rows } = await database.query<{ version: number; sha256: string }>(
    'SELECT version, sha256 FROM schema_migrations ORDER BY version',
  );
  const applied = new Map(rows.map(({ version, sha256 }) => [version, sha256]));
  const known = loadMigrations();
  const days = [nowMs, nowMs + DAY_MS].map(utcDay);
  const wanted = [
    ...DAILY_TABLES.flatMap((table) => days.map((day) => partitionName(table, day))),
    ...receiptPeriods(nowMs).map((period) => partitionName(RECEIPTS, utcHour(period))),
  ];
  const { rows: missing } = await database.query<{ name: string }>(
    `SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS wanted (name, place)
      WHERE NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(name))
      ORDER BY place`,
    [wanted],
  );
  return {
    missingMigrations: known.filter(({ version }) => !applied.has(version)).map(({ name }) => name),
    historyFault: historyFault(applied, known),
    missingPartitions: missing.map(({ name }) => name),
  };
}
