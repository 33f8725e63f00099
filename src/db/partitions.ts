/**
 * The daily partitions of the telemetry tables: made ahead of time, dropped past retention.
 *
 * A partition is built as a table of its own and then attached: `CREATE TABLE … PARTITION OF` would
 * lock the parent against every running COPY, attaching does not (PostgreSQL manual, 5.12.2.2).
 */
import type { Events } from '../observe/events.ts';
import { type Connection, type Database, inTransaction } from './database.ts';
import { TELEMETRY_TABLES, type TelemetryTable } from './table-layouts.ts';

const DAY_MS = 86_400_000;
/** today, and days ahead, so that a process that cannot reach its timer still finds a place */
const DAYS_AHEAD = 2;
const LOCK_KEY = '0x736c756963652b31';
/**
 * How long dropping may wait for a table that is being read; it is tried again at the next turn.
 */
const DROP_LOCK_TIMEOUT_MS = 2000;

/** The UTC day of a moment, as `2026-11-20`. */
export function utcDay(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

function partitionName(table: TelemetryTable, day: string): string {
  return `${table}_${day.replaceAll('-', '_')}`;
}

async function exists(connection: Connection, name: string): Promise<boolean> {
  const { rows } = await connection.query('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [name]);
  return rows.length > 0;
}

/**
 * Makes sure that every telemetry table takes rows of a day.
 *
 * @param dayMs any moment of the day, milliseconds since 1970
 * @returns the names of the partitions created now
 */
export async function ensureDay(database: Database, dayMs: number): Promise<string[]> {
  const day = utcDay(dayMs);
  const next = utcDay(dayMs + DAY_MS);
  return await inTransaction(database, async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock(${BigInt(LOCK_KEY)})`);
    const created: string[] = [];
    for (const table of TELEMETRY_TABLES) {
      const name = partitionName(table, day);
      if (await exists(connection, name)) continue;
      await connection.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS)`);
      await connection.query(
        `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${day}') TO ('${next}')`,
      );
      created.push(name);
    }
    return created;
  });
}

interface Partition {
  readonly parent: TelemetryTable;
  readonly name: string;
  readonly attached: boolean;
  readonly detaching: boolean;
}

/** Every day's table, also one that an interrupted turn left detached or half-way detached. */
async function listPartitions(database: Database): Promise<Partition[]> {
  const { rows } = await database.query<Partition>(
    `SELECT parent, child.relname AS name, inhrelid IS NOT NULL AS attached,
            coalesce(inhdetachpending, false) AS detaching
       FROM unnest($1::text[]) AS parent
       JOIN pg_class child ON child.relname ~ ('^' || parent || '_\\d{4}_\\d\\d_\\d\\d$')
       LEFT JOIN pg_inherits ON inhrelid = child.oid
      WHERE child.relkind = 'r' AND pg_table_is_visible(child.oid)
      ORDER BY child.relname`,
    [TELEMETRY_TABLES],
  );
  return rows;
}

async function dropPartition(connection: Connection, partition: Partition): Promise<void> {
  const { parent, name, attached, detaching } = partition;
  if (attached) {
    const how = detaching ? 'FINALIZE' : 'CONCURRENTLY';
    await connection.query(`ALTER TABLE ${parent} DETACH PARTITION ${name} ${how}`);
  }
  await connection.query(`DROP TABLE ${name}`);
}

async function dropBefore(database: Database, firstKeptDay: string): Promise<string[]> {
  const outdated = (await listPartitions(database)).filter(
    ({ parent, name }) => name.slice(parent.length + 1).replaceAll('_', '-') < firstKeptDay,
  );
  if (outdated.length === 0) return [];
  const connection = await database.connect();
  try {
    await connection.query(`SET lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
    for (const partition of outdated) await dropPartition(connection, partition);
  } finally {
    // Destroyed rather than given back: it carries a setting of its own.
    connection.release(true);
  }
  return outdated.map(({ name }) => name);
}

/**
 * One turn of upkeep: partitions for today and the days ahead, and none past retention.
 *
 * @param retentionDays whole days kept beside today; 0 keeps everything
 */
export async function keepPartitions(
  database: Database,
  nowMs: number,
  retentionDays: number,
  events: Pick<Events, 'partitionsChanged'>,
): Promise<void> {
  const created: string[] = [];
  for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1) {
    created.push(...(await ensureDay(database, nowMs + ahead * DAY_MS)));
  }
  const dropped =
    retentionDays === 0 ? [] : await dropBefore(database, utcDay(nowMs - retentionDays * DAY_MS));
  if (created.length + dropped.length > 0) events.partitionsChanged(created, dropped);
}
