/**
 * The daily partitions of blocks and places, hot and kept, and those of the receipts: made ahead of time,
 * dropped past retention.
 *
 * A partition is built as a separate table and then attached: `CREATE TABLE … PARTITION OF` would
 * lock the parent against every running COPY, attaching does not (PostgreSQL manual, 5.12.2.2).
 */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Events } from '../../observe/events.ts';
import { type Connection, type Database, inTransaction, withConnection } from '../database.ts';
import { placementOf, useOneConnectionPerNode } from '../placement.ts';
import { PERIOD_MS, RECEIPTS, receiptPeriods } from './receipts.ts';

const DAY_MS = 86_400_000;
/** Days ahead of today, in case upkeep fails for a while. */
const DAYS_AHEAD = 2;
/**
 * Values of larger rows are compressed or moved to the TOAST table until the row is below this: half a
 * page; PostgreSQL's default is a quarter. A partitioned table cannot have this setting.
 */
const TOAST_TARGET_BYTES = 4080;
const LOCK_KEY = '0x736c756963652b31';
const LOCK_RETRY_MS = 20;
/** How long a process waits while others create partitions. */
const LOCK_WAIT_MS = 30_000;
/** How long dropping waits for a table that is being read; the next upkeep tries again. */
const DROP_LOCK_TIMEOUT_MS = 2000;
/** Above it, for a server that does not cancel. */
const DROP_TIMEOUT_MS = 60_000;
/** Cancels a statement of this role, as `statement_timeout` would. */
const CANCEL = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE query = $1 AND state = 'active' AND datname = current_database()`;

export function utcDay(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

export const DAILY_TABLES = ['hot_blocks', 'hot_places', 'blocks', 'places'] as const;

type DailyTable = (typeof DAILY_TABLES)[number];
type PartitionedTable = DailyTable | typeof RECEIPTS;

/** @param from a UTC day, as `2026-11-20`, or the hour in which a period begins, as `2026-11-20T16` */
export function partitionName(table: PartitionedTable, from: string): string {
  return `${table}_${from.replace(/[-T]/g, '_')}`;
}

export function utcHour(period: number): string {
  return new Date(period * PERIOD_MS).toISOString().slice(0, 13);
}

async function stateOf(
  connection: Connection,
  name: string,
): Promise<'attached' | 'detached' | 'missing'> {
  const { rows } = await connection.query<{ readonly attached: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = oid) AS attached
       FROM to_regclass($1) AS oid WHERE oid IS NOT NULL`,
    [name],
  );
  if (rows[0] === undefined) return 'missing';
  return rows[0].attached ? 'attached' : 'detached';
}

interface NewPartition {
  readonly parent: PartitionedTable;
  readonly name: string;
  /** its rows: `FROM (…) TO (…)` */
  readonly values: string;
  readonly storage: string;
}

/**
 * Waits until no other process creates partitions; the lock ends with the transaction. It is tried again
 * and again, because a statement that waits keeps its snapshot: detaching a partition concurrently waits
 * for older snapshots, and attaching one waits for that, which would be a deadlock of three.
 */
async function lockCreation(connection: Connection): Promise<void> {
  const endsAtMs = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const { rows } = await connection.query<{ readonly locked: boolean }>(
      `SELECT pg_try_advisory_xact_lock(${BigInt(LOCK_KEY)}) AS locked`,
    );
    if (rows[0]?.locked === true) return;
    if (performance.now() > endsAtMs) throw new Error('another process is creating partitions');
    await sleep(LOCK_RETRY_MS);
  }
}

/** The lock that attaching and detaching a partition take first. */
const lockParents = (parents: readonly PartitionedTable[]): string =>
  `LOCK TABLE ONLY ${parents.join(', ONLY ')} IN SHARE UPDATE EXCLUSIVE MODE`;

async function ensure(database: Database, wanted: readonly NewPartition[]): Promise<string[]> {
  const isDistributed = (await placementOf(database)) === 'distributed';
  return await inTransaction(database, async (connection) => {
    if (isDistributed) await useOneConnectionPerNode(connection);
    await lockCreation(connection);
    const lacking: (NewPartition & { readonly isMissing: boolean })[] = [];
    for (const partition of wanted) {
      const state = await stateOf(connection, partition.name);
      if (state !== 'attached') lacking.push({ ...partition, isMissing: state === 'missing' });
    }
    if (lacking.length === 0) return [];
    // DETACH PARTITION … FINALIZE holds this lock while it waits for transactions with older snapshots.
    // LOCK TABLE waits without one; CREATE TABLE and ALTER TABLE have one: a deadlock. So all parents are
    // locked before the first of these.
    const parents = [...new Set(lacking.map(({ parent }) => parent))];
    if (!isDistributed) await connection.query(lockParents(parents));
    for (const { parent, name, values, storage, isMissing } of lacking) {
      if (isMissing) {
        // The parent's storage and compression apply to its partitions.
        await connection.query(
          `CREATE TABLE ${name} (LIKE ${parent} INCLUDING DEFAULTS INCLUDING STORAGE
             INCLUDING COMPRESSION) WITH (${storage})`,
        );
      }
      await connection.query(`ALTER TABLE ${parent} ATTACH PARTITION ${name} FOR VALUES ${values}`);
    }
    return lacking.map(({ name }) => name);
  });
}

/** Makes sure that blocks and places of a day can be stored; returns the partitions made now. */
export async function ensureDay(database: Database, dayMs: number): Promise<string[]> {
  const day = utcDay(dayMs);
  const values = `FROM ('${day}') TO ('${utcDay(dayMs + DAY_MS)}')`;
  // Not vacuumed for rows that were added: it costs a third of storing them, and a day is dropped as
  // a whole (docs/decisions/0008-blocks.md).
  const storage = `toast_tuple_target = ${TOAST_TARGET_BYTES},
    autovacuum_vacuum_insert_threshold = -1`;
  const partition = (parent: DailyTable): NewPartition => ({
    parent,
    name: partitionName(parent, day),
    values,
    storage,
  });
  return await ensure(database, DAILY_TABLES.map(partition));
}

/** Makes sure that the receipts of some periods since 1970 can be stored, as `ensureDay` does. */
export async function ensurePeriods(
  database: Database,
  periods: readonly number[],
): Promise<string[]> {
  const partition = (period: number): NewPartition => ({
    parent: RECEIPTS,
    name: partitionName(RECEIPTS, utcHour(period)),
    values: `FROM (${period}) TO (${period + 1})`,
    // Rows are only added, and the table is dropped within hours: there is nothing to clean up.
    storage: 'autovacuum_enabled = false',
  });
  return await ensure(database, periods.map(partition));
}

export interface Partition {
  readonly parent: PartitionedTable;
  readonly name: string;
  readonly attached: boolean;
  readonly detaching: boolean;
}

/**
 * The table of every day or hour, also those that an interrupted upkeep left detached or partly detached; the
 * latter first, because they block detaching others. Then by day, its places before its blocks.
 */
export async function listPartitions(database: Database): Promise<Partition[]> {
  const { rows } = await database.query<Partition>(
    `SELECT parent, child.relname AS name, inhrelid IS NOT NULL AS attached,
            coalesce(inhdetachpending, false) AS detaching
       FROM unnest($1::text[]) AS parent
       JOIN pg_class child ON child.relname ~ ('^' || parent || '_\\d{4}(_\\d\\d){2,3}$')
       LEFT JOIN pg_inherits ON inhrelid = child.oid
      WHERE child.relkind = 'r' AND pg_table_is_visible(child.oid)
      ORDER BY detaching DESC, substr(child.relname, length(parent) + 1), parent LIKE '%places' DESC, parent`,
    [[...DAILY_TABLES, RECEIPTS]],
  );
  return rows;
}

/** The first UTC day that has rows or may get some, as `2026-11-20`; null when no day has a table. */
export async function oldestDay(database: Database): Promise<string | null> {
  const days = (await listPartitions(database))
    .filter(({ parent }) => parent !== RECEIPTS)
    .map(({ parent, name }) => name.slice(parent.length + 1).replaceAll('_', '-'))
    .sort();
  return days[0] ?? null;
}

/**
 * Waits until no other process attaches or detaches, without a snapshot as in `ensure`, and detects readers:
 * one would leave its partition partly detached, and until that is finished no other partition of the
 * same parent can be detached.
 *
 * @throws SQLSTATE 55P03 when a transaction reads it, or another process takes long
 */
async function requireFree(
  database: Database,
  { parent, name, detaching }: Partition,
): Promise<void> {
  await inTransaction(database, async (connection) => {
    await connection.query(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
    await connection.query(lockParents([parent]));
    if (!detaching) await connection.query(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE NOWAIT`);
  });
}

/**
 * Detaching concurrently waits for readers, and cannot run in a transaction, so no setting can limit it:
 * behind a pooler SET would apply to another session. Its backend is found by the statement.
 */
async function detach(database: Database, { parent, name, detaching }: Partition): Promise<void> {
  const how = detaching ? 'FINALIZE' : 'CONCURRENTLY';
  const statement = `ALTER TABLE ${parent} DETACH PARTITION ${name} ${how}`;
  const cancel = (): void => {
    database.query(CANCEL, [statement]).catch(() => {
      // The connection's time limit ends it.
    });
  };
  const timer = setTimeout(cancel, DROP_LOCK_TIMEOUT_MS);
  try {
    await withConnection(database, DROP_TIMEOUT_MS, (connection) => connection.query(statement));
  } finally {
    clearTimeout(timer);
  }
}

export async function dropPartition(database: Database, partition: Partition): Promise<void> {
  const { parent, name, attached } = partition;
  // Citus detaches nothing concurrently: the table is dropped as a partition.
  const isDistributed = parent !== RECEIPTS && (await placementOf(database)) === 'distributed';
  if (attached && !isDistributed) {
    await requireFree(database, partition);
    await detach(database, partition);
  }
  await inTransaction(database, async (connection) => {
    if (isDistributed) await useOneConnectionPerNode(connection);
    await connection.query(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
    await connection.query(`DROP TABLE ${name}`);
  });
}

/** Makes sure that today and the days ahead have their partitions, by PostgreSQL's clock. */
export async function ensureDays(
  database: Database,
  nowMs: number,
  events: Pick<Events, 'partitionsChanged'>,
): Promise<void> {
  const created: string[] = [];
  for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1) {
    created.push(...(await ensureDay(database, nowMs + ahead * DAY_MS)));
  }
  if (created.length > 0) events.partitionsChanged(created, []);
}

/** Makes sure that receipts can be stored in this period and the next. */
export async function ensureReceipts(
  database: Database,
  nowMs: number,
  events: Pick<Events, 'partitionsChanged'>,
): Promise<void> {
  const periods = [...receiptPeriods(nowMs), ...receiptPeriods(nowMs + PERIOD_MS)];
  const created = await ensurePeriods(database, [...new Set(periods)]);
  if (created.length > 0) events.partitionsChanged(created, []);
}

/**
 * Drops the partitions past retention, and those of receipts that no resend can repeat, one by one:
 * one that cannot be dropped because it is being read is tried again by the next upkeep. The blocks of a
 * day are dropped after its places, so that no place names a block that is gone.
 * @param retentionDays whole days kept beside today; 0 keeps everything
 * @param signal aborted when the server stops; no further partition is dropped then
 * @throws the first error, after the others were tried
 */
export async function dropOutdated(
  database: Database,
  nowMs: number,
  retentionDays: number,
  events: Pick<Events, 'partitionsChanged'>,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const firstKeptHour = utcHour(receiptPeriods(nowMs)[0]);
  const firstKeptDay = retentionDays === 0 ? '' : utcDay(nowMs - retentionDays * DAY_MS);
  const dropped: string[] = [];
  const errors: unknown[] = [];
  /** places that are still there */
  const placed = new Set<string>();
  for (const partition of await listPartitions(database)) {
    const { parent, name } = partition;
    const day = name.slice(parent.length);
    const firstKept = parent === RECEIPTS ? firstKeptHour : firstKeptDay;
    if (signal.aborted) break;
    if (name >= partitionName(parent, firstKept)) continue;
    if (parent.endsWith('blocks') && placed.has(parent.replace('blocks', 'places') + day)) continue;
    try {
      await dropPartition(database, partition);
      dropped.push(name);
    } catch (error) {
      errors.push(error);
      if (parent.endsWith('places')) placed.add(name);
    }
  }
  if (dropped.length > 0) events.partitionsChanged([], dropped);
  if (errors.length > 0) throw errors[0];
}
