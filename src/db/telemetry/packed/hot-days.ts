/**
 * The end of a hot day: everything of its blocks that is not packed yet is packed, then its places are dropped,
 * and later its blocks (docs/decisions/0009-hot-and-packed-blocks.md).
 *
 *   begin ─► group of blocks ─► … ─► group ─► packed ─► places dropped ─► an hour ─► blocks dropped
 *              │ one transaction each: packed blocks and places, and how far the day is packed
 *
 * One process packs at a time. A process that was killed has stored whole groups; another one continues after them.
 */
import type { RecordRanges } from '../../../model/record-ranges.ts';
import { type Connection, type Database, inTransaction } from '../../database.ts';
import { placementOf } from '../../placement.ts';
import { dropPartition, listPartitions, partitionName, utcDay } from '../partitions.ts';
import {
  insertPacked,
  insertPlaces,
  keyOf,
  type NewPackedBlock,
  type PackedCounts,
  packedSources,
} from './store-packed.ts';

/** Hot blocks of a group: 8 MiB of lines at most, unless lines are longer. */
const GROUP_BLOCKS = 16;
/** Another process continues after a process that was silent for so long. */
const LEASE = "interval '10 minutes'";
/** Reading a day's places once, to index them. */
const INDEX_TIMEOUT_MS = 60 * 60_000;
/** Readers that found hot places before they were dropped read their blocks for at most so long. */
const READERS = "interval '1 hour'";
const DAY_MS = 86_400_000;

export interface HotBlock {
  readonly blockId: string;
  readonly workspaceId: number;
  readonly records: number;
}

export interface HotPlace {
  readonly blockId: string;
  readonly workspaceId: number;
  readonly runId: string;
  readonly arrivedAtMicros: number;
  /** as they are stored: they may be damaged */
  readonly records: Buffer;
}

export interface HotGroup {
  readonly blocks: readonly HotBlock[];
  /** of these blocks, and of blocks between them that are missing */
  readonly places: readonly HotPlace[];
  /** the last block of the group; null if the day has no further blocks */
  readonly to: string | null;
}

export interface PackedGroup {
  readonly blocks: readonly NewPackedBlock[];
  /** ids of hot blocks that cannot be read: they are kept as they are, with these places */
  readonly unreadable: readonly string[];
  readonly unreadablePlaces: readonly (HotPlace & { readonly ranges: RecordRanges })[];
}

export class HotDay {
  readonly #database: Database;
  readonly day: string;
  readonly #token: string;
  #packedTo: string | null;
  isPacked: boolean;

  private constructor(
    database: Database,
    day: string,
    token: string,
    { packedTo, isPacked }: { readonly packedTo: string | null; readonly isPacked: boolean },
  ) {
    this.#database = database;
    this.day = day;
    this.#token = token;
    this.#packedTo = packedTo;
    this.isPacked = isPacked;
  }

  /** Begins to pack a day, or continues; null while another process packs it. */
  static async begin(database: Database, day: string, token: string): Promise<HotDay | null> {
    await database.query('INSERT INTO hot_days (day) VALUES ($1) ON CONFLICT DO NOTHING', [day]);
    const { rows } = await database.query<{ packedTo: string | null; isPacked: boolean }>(
      `UPDATE hot_days SET leased_by = $2, lease_until = now() + ${LEASE}
        WHERE day = $1 AND (leased_by = $2 OR lease_until IS NULL OR lease_until < now())
        RETURNING packed_to AS "packedTo", packed_at IS NOT NULL AS "isPacked"`,
      [day, token],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const own = new HotDay(database, day, token, row);
    if (!row.isPacked) await own.#prepare();
    return own;
  }

  /**
   * Waits for transactions that still write to the day: none begins any more, because requests are stored on the
   * day on which they arrive. Then the places are indexed by block, which costs nothing while they arrive.
   */
  async #prepare(): Promise<void> {
    const [blocks, places] = [
      partitionName('hot_blocks', this.day),
      partitionName('hot_places', this.day),
    ];
    await inTransaction(
      this.#database,
      async (connection) => {
        await connection.query(`SET LOCAL statement_timeout = ${INDEX_TIMEOUT_MS}`);
        await connection.query(`LOCK TABLE ${blocks}, ${places} IN SHARE MODE`);
        await connection.query(
          `CREATE INDEX IF NOT EXISTS ${places}_by_block ON ${places} USING brin (block_id)`,
        );
      },
      INDEX_TIMEOUT_MS,
    );
  }

  /** Reads the next group: every block and place of the day is in one group. */
  async next(): Promise<HotGroup> {
    return await inTransaction(this.#database, async (connection) => {
      // A day without statistics would be read from its start for each group.
      await connection.query('SET LOCAL enable_seqscan = off');
      const { rows: blocks } = await connection.query<HotBlock>(
        `SELECT block_id AS "blockId", workspace_id AS "workspaceId", records FROM hot_blocks
          WHERE arrived_on = $1 AND block_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
          ORDER BY block_id LIMIT ${GROUP_BLOCKS}`,
        [this.day, this.#packedTo],
      );
      const to = blocks.length < GROUP_BLOCKS ? null : (blocks.at(-1)?.blockId ?? null);
      const { rows: places } = await connection.query<HotPlace>(
        `SELECT block_id AS "blockId", workspace_id AS "workspaceId", run_id AS "runId",
                (extract(epoch FROM arrived_at) * 1000000)::float8 AS "arrivedAtMicros", records
           FROM hot_places WHERE arrived_on = $1
            AND block_id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
            AND block_id <= coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          ORDER BY block_id, workspace_id, run_id`,
        [this.day, this.#packedTo, to],
      );
      return { blocks, places, to };
    });
  }

  async unpacked(places: readonly HotPlace[]): Promise<readonly HotPlace[]> {
    return await this.#unpacked(this.#database, places);
  }

  async #unpacked(
    database: Pick<Connection, 'query'>,
    places: readonly HotPlace[],
  ): Promise<readonly HotPlace[]> {
    const runs = runsOf(places);
    const placement = await placementOf(this.#database);
    const known = await packedSources(database, placement, runs, [this.day]);
    return places.filter((place) => known.get(keyOf(place))?.has(place.blockId) !== true);
  }

  /** Stores what was made of a group, all or nothing; null if others packed some of it meanwhile. */
  async store(
    { to }: HotGroup,
    unpacked: readonly HotPlace[],
    { blocks, unreadable, unreadablePlaces }: PackedGroup,
  ): Promise<PackedCounts | null> {
    const counts = await inTransaction(this.#database, async (connection) => {
      const { rows } = await connection.query(
        `UPDATE hot_days SET packed_to = $4, lease_until = now() + ${LEASE},
                packed_at = CASE WHEN $4::uuid IS NULL THEN now() END
          WHERE day = $1 AND leased_by = $2 AND packed_to IS NOT DISTINCT FROM $3 AND packed_at IS NULL
          RETURNING day`,
        [this.day, this.#token, this.#packedTo, to],
      );
      if (rows.length === 0) throw new GroupTaken();
      await lockRuns(connection, runsOf(unpacked));
      const left = await this.#unpacked(connection, unpacked);
      if (left.length < unpacked.length) throw new GroupTaken();
      await keepAsTheyAre(connection, this.day, unreadable, unreadablePlaces);
      return await insertPacked(connection, blocks);
    }).catch((error: unknown) => {
      if (error instanceof GroupTaken) return null;
      throw error;
    });
    if (counts === null) return null;
    this.#packedTo = to;
    this.isPacked = to === null;
    return counts;
  }
}

class GroupTaken extends Error {}

function runsOf(places: readonly HotPlace[]): Pick<HotPlace, 'workspaceId' | 'runId'>[] {
  return [...new Map(places.map((place) => [keyOf(place), place])).values()].sort(
    (one, other) => one.workspaceId - other.workspaceId || (one.runId < other.runId ? -1 : 1),
  );
}

/** The pass locks the runs that it completes, and packs them in the same transaction. */
async function lockRuns(connection: Connection, runs: ReturnType<typeof runsOf>): Promise<void> {
  if (runs.length === 0) return;
  await connection.query(
    `SELECT FROM (SELECT * FROM unnest($1::int[], $2::uuid[]) AS run (workspace_id, run_id)
                   ORDER BY workspace_id, run_id) AS t
      CROSS JOIN LATERAL (SELECT FROM runs WHERE workspace_id = t.workspace_id AND run_id = t.run_id
                             FOR SHARE) AS r`,
    [runs.map(({ workspaceId }) => workspaceId), runs.map(({ runId }) => runId)],
  );
}

const KEPT_COLUMNS = `block_id, workspace_id, arrived_on, bytes, records, checksum, signal, codec, data`;

/** Keeps hot blocks and places as they are: readers continue to report that they cannot be read. */
async function keepAsTheyAre(
  connection: Connection,
  day: string,
  blockIds: readonly string[],
  places: PackedGroup['unreadablePlaces'],
): Promise<void> {
  if (blockIds.length > 0) {
    await connection.query(
      `INSERT INTO blocks (${KEPT_COLUMNS})
       SELECT ${KEPT_COLUMNS} FROM hot_blocks WHERE arrived_on = $1 AND block_id = ANY ($2::uuid[])`,
      [day, blockIds],
    );
  }
  await insertPlaces(
    connection,
    places.map(({ ranges: records, ...place }) => {
      const { blockId } = place;
      return { ...place, arrivedOn: day, records, sources: [{ blockId, records }] };
    }),
  );
}

/** Checks whether a day is past its hot days, the whole days that stay hot with today. */
export function isHotDayOver(day: string, nowMs: number, hotDays: number): boolean {
  return day < utcDay(nowMs - hotDays * DAY_MS);
}

export async function hotDaysOf(
  database: Database,
  table: 'hot_blocks' | 'hot_places',
): Promise<readonly string[]> {
  return (await listPartitions(database))
    .filter(({ parent }) => parent === table)
    .map(({ name }) => name.slice(table.length + 1).replaceAll('_', '-'))
    .sort();
}

export async function dropHotPlaces(database: Database, day: string): Promise<string[]> {
  const name = partitionName('hot_places', day);
  const partition = (await listPartitions(database)).find((one) => one.name === name);
  if (partition !== undefined) await dropPartition(database, partition);
  return partition === undefined ? [] : [name];
}

/** Drops the hot blocks of days whose places are gone, once no reader needs them any more. */
export async function dropHotBlocks(database: Database): Promise<string[]> {
  const placed = new Set(await hotDaysOf(database, 'hot_places'));
  const days = (await hotDaysOf(database, 'hot_blocks')).filter((day) => !placed.has(day));
  await database.query(
    `UPDATE hot_days SET places_dropped_at = now()
      WHERE day = ANY ($1::date[]) AND packed_at IS NOT NULL AND places_dropped_at IS NULL`,
    [days],
  );
  const { rows } = await database.query<{ day: string }>(
    `SELECT day::text FROM hot_days
      WHERE day = ANY ($1::date[]) AND places_dropped_at < now() - ${READERS} ORDER BY day`,
    [days],
  );
  const dropped: string[] = [];
  for (const { day } of rows) {
    const name = partitionName('hot_blocks', day);
    const partition = (await listPartitions(database)).find((one) => one.name === name);
    if (partition === undefined) continue;
    await dropPartition(database, partition);
    dropped.push(name);
  }
  const left = await hotDaysOf(database, 'hot_blocks');
  await database.query('DELETE FROM hot_days WHERE day <> ALL ($1::date[])', [left]);
  return dropped;
}
