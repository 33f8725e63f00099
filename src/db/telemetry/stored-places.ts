/**
 * Finds the places of runs and reads blocks. A place names the records of one block that belong to a run. No statement
 * joins the two: on a Citus cluster they are on different nodes.
 *
 *   runs ─► findPlaces ─► places ─► their blocks, each once ─► readBlocks ─► texts, one at a time
 */

import { decodeRanges, type RecordRanges } from '../../model/record-ranges.ts';
import type { Signal } from '../../model/telemetry.ts';
import type { Database, Queryable } from '../database.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { isInPart, LEASES, partOf, WHOLE_RUN } from '../runs/late-steps.ts';
import type { RunToRead } from '../runs/run-to-read.ts';
import { byShard } from '../runs/shards.ts';
import {
  BLOCK_BYTES_MAX,
  readBlock,
  type StoredBlock,
  UnreadableBlockError,
  UnsupportedCodecError,
} from './block-codec.ts';
import { SIGNAL_NUMBERS } from './blocks.ts';
import { CODECS, type Codecs } from './codecs.ts';

/** The records of a run in one block. */
export interface RunPlace extends BlockKey {
  readonly records: RecordRanges;
  /** the run's claim is for them; true if the run was not claimed */
  readonly isInPart: boolean;
}

/** The address of a block. */
export interface BlockKey {
  readonly blockId: string;
  /** the UTC day on which it arrived (`2026-11-20`) */
  readonly arrivedOn: string;
}

/** A run as the database counts it, and its places. */
export interface PlacesOfRun {
  /** how many records are stored, of those that its claim is for; 0 for a run that retention has removed */
  readonly total: number;
  /** in the order of arrival */
  readonly places: readonly RunPlace[];
}

/** A place names a block that is not stored. */
export class MissingBlockError extends UnreadableBlockError {
  override name = 'MissingBlockError';

  constructor(blockId: string) {
    super(blockId, 'it is missing');
  }
}

/** The text of a block, or the error if it cannot be read. */
export type BlockText = BlockKey &
  (
    | { readonly signal: Signal; readonly text: Buffer }
    | {
        /** null if it is not known */
        readonly signal: Signal | null;
        readonly error: UnreadableBlockError | UnsupportedCodecError;
      }
  );

/** Maximum blocks that one statement reads; each has up to `BLOCK_BYTES_MAX`, and a longer one is read alone. */
const SLICE_BLOCKS = 32;
/** Blocks that are decompressed in the thread pool while the caller works on the one before them. */
const BLOCKS_AHEAD = 2;

const SIGNALS = new Map(
  Object.entries(SIGNAL_NUMBERS).map(([signal, number]) => [number, signal as Signal]),
);

/**
 * The runs, with how many of their records are to be read. A statement that runs on a worker cannot read the
 * table of runs, which is on the coordinator, so it gets the numbers as parameters (`byShard`).
 */
const localRuns = (areClaimed: boolean): string => `
    SELECT t.*, coalesce(t.claimed, r.spans + r.repeated_spans + r.log_records) AS total,
           ${areClaimed ? partOf('t.claimed') : WHOLE_RUN}
      FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[], $8::int[], $9::boolean[]) WITH ORDINALITY
           AS t (workspace_id, run_id, first_on, last_on, claimed, is_late, run_place)
      JOIN runs AS r ON r.workspace_id = t.workspace_id AND r.run_id = t.run_id
      ${areClaimed ? LEASES : ''}`;
const DISTRIBUTED_RUNS = `SELECT *
      FROM (SELECT workspace_id, run_id, first_on, last_on, total, is_late, run_place, claimed_to,
                   claimed_without::timestamptz[], evaluated_to, evaluated_without::timestamptz[]
              FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[], $8::int[], $9::boolean[],
                     $10::timestamptz[], $11::text[], $12::timestamptz[], $13::text[]) WITH ORDINALITY
                   AS t (workspace_id, run_id, first_on, last_on, total, is_late, claimed_to,
                         claimed_without, evaluated_to, evaluated_without, run_place)) AS t`;

/** Makes Citus send the whole statement to the worker that has the shard of the statement's runs. */
const ON_SHARD: Readonly<Record<TelemetryPlacement, string>> = {
  local: '',
  distributed: 'AND p.run_id = ANY ($2::uuid[])',
};

/** SQL condition for the places of `run`. Only its days' partitions are opened ($5, $6). */
const ofRun = (placement: TelemetryPlacement): string =>
  `p.workspace_id = run.workspace_id AND p.run_id = run.run_id
          AND p.arrived_on BETWEEN run.first_on - 1 AND run.last_on + 1
          AND p.arrived_on BETWEEN $5::date - 1 AND $6::date + 1 ${ON_SHARD[placement]}`;

/**
 * LATERAL with LIMIT makes PostgreSQL look up each run by the index. Without statistics of today's
 * partition it might read the whole partition instead.
 */
const placesOf = (placement: TelemetryPlacement, runs: string): string => `
  WITH run AS (${runs})
  SELECT run.run_place::int - 1 AS run, run.total, place.block_id AS "blockId",
         place.arrived_on::text AS "arrivedOn", place.records, place.is_in_part AS "isInPart"
    FROM run LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT p.block_id, p.arrived_on, p.records, ${isInPart('p')} AS is_in_part
          FROM places AS p WHERE ${ofRun(placement)}
      ) AS p
       WHERE is_in_part OR run.is_late
       ORDER BY is_in_part DESC, arrived_on, block_id LIMIT $7
    ) AS place ON true
   ORDER BY run.run_place, place.arrived_on, place.block_id`;
const FIND = {
  claimed: placesOf('local', localRuns(true)),
  local: placesOf('local', localRuns(false)),
  distributed: placesOf('distributed', DISTRIBUTED_RUNS),
};

interface FoundRow extends Omit<RunPlace, 'records' | 'blockId'> {
  /** index of the run in the request */
  readonly run: number;
  readonly total: number;
  /** null for a run without places */
  readonly blockId: string | null;
  readonly records: Buffer;
}

/**
 * Finds the places of runs. Each run is looked for on the days of its arrival, with a day to spare on
 * either side for clocks that differ. If the late steps of a run are claimed, the places of its
 * other steps come too.
 *
 * @param placesMax maximum number of places of each run: the first that arrived
 * @returns for each run its places
 */
export async function findPlaces(
  database: Database,
  runs: readonly RunToRead[],
  placesMax: number,
): Promise<readonly PlacesOfRun[]> {
  if ((await placementOf(database)) === 'local') {
    const claimed = runs.map(({ steps }) => steps ?? null);
    const areClaimed = claimed.some((steps) => steps !== null);
    return await findIn(database, areClaimed ? 'claimed' : 'local', runs, placesMax, claimed, []);
  }
  const found = runs.map((): PlacesOfRun => ({ total: 0, places: [] }));
  for (const shard of await byShard(database, runs)) {
    const own = shard.places.flatMap((index) => runs[index] ?? []);
    const { totals, parts } = shard;
    const places = await findIn(database, 'distributed', own, placesMax, totals, parts);
    for (const [at, one] of places.entries()) found[shard.places[at] ?? -1] = one;
  }
  return found;
}

/**
 * @param counts how many records each claim is for; of distributed runs also those of unclaimed runs
 * @param parts of distributed runs: `ShardOfRuns.parts`
 */
async function findIn(
  database: Database,
  kind: keyof typeof FIND,
  runs: readonly RunToRead[],
  placesMax: number,
  counts: readonly (number | null)[],
  parts: readonly unknown[],
): Promise<readonly PlacesOfRun[]> {
  const firstDays = runs.map(({ firstArrivalOn }) => firstArrivalOn);
  const lastDays = runs.map(({ lastArrivalOn }) => lastArrivalOn);
  const { rows } = await database.query<FoundRow>(FIND[kind], [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    firstDays,
    lastDays,
    [...firstDays].sort()[0],
    [...lastDays].sort().at(-1),
    placesMax,
    counts,
    runs.map(({ isLate }) => isLate === true),
    ...parts,
  ]);
  const found = runs.map((): { total: number; places: RunPlace[] } => ({ total: 0, places: [] }));
  for (const { run, total, blockId, arrivedOn, records, isInPart: isOfPart } of rows) {
    const of = found[run];
    if (of === undefined) throw new RangeError('a run that was not requested');
    of.total = total;
    if (blockId === null) continue;
    of.places.push({ blockId, arrivedOn, records: toRanges(records), isInPart: isOfPart });
  }
  return found;
}

/** Decodes the records of a place; of a damaged one none, so that they count as not read. */
function toRanges(records: Buffer): RecordRanges {
  try {
    return decodeRanges(records);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

interface BlockRow extends Omit<StoredBlock, 'data'> {
  readonly signal: number;
  /** null for a long block */
  readonly data: Buffer | null;
}

const BLOCKS = `
  SELECT block_id AS id, signal, codec, bytes, checksum, CASE WHEN bytes <= $3 THEN data END AS data
    FROM blocks WHERE block_id = ANY ($1::uuid[]) AND arrived_on = ANY ($2::date[])`;

/**
 * Reads blocks one after the other, in the order of the keys. Memory is bounded: at most `SLICE_BLOCKS`
 * compressed blocks of usual size and three texts are held at a time, or one long block.
 *
 * @param keys are taken when their slice is read
 * @param codecs those of this process
 * @throws the database's error; a block that cannot be read is an answer
 */
export async function* readBlocks(
  database: Queryable,
  keys: Iterable<BlockKey>,
  codecs: Codecs = CODECS,
): AsyncGenerator<BlockText, void, void> {
  for (const slice of slicesOf(keys)) {
    const rows = await blocksOf(database, slice, BLOCK_BYTES_MAX);
    const begun: Promise<BlockText>[] = [];
    let next = 0;
    while (next < slice.length || begun.length > 0) {
      while (next < slice.length && begun.length <= BLOCKS_AHEAD) {
        const key = slice[next] as BlockKey;
        const row = rows.get(key.blockId);
        // A long block is read when its turn comes.
        if (row?.data === null && begun.length > 0) break;
        const text = textOf(database, key, row, codecs);
        text.catch(() => {});
        begun.push(text);
        next += 1;
      }
      yield await (begun.shift() as Promise<BlockText>);
    }
  }
}

function* slicesOf(keys: Iterable<BlockKey>): Generator<readonly BlockKey[]> {
  let slice: BlockKey[] = [];
  for (const key of keys) {
    if (slice.push(key) < SLICE_BLOCKS) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** @param bytesMax the data of longer blocks is left out */
async function blocksOf(
  database: Queryable,
  keys: readonly BlockKey[],
  bytesMax: number,
): Promise<ReadonlyMap<string, BlockRow>> {
  const { rows } = await database.query<BlockRow>(BLOCKS, [
    keys.map(({ blockId }) => blockId),
    [...new Set(keys.map(({ arrivedOn }) => arrivedOn))],
    bytesMax,
  ]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function textOf(
  database: Queryable,
  key: BlockKey,
  row: BlockRow | undefined,
  codecs: Codecs,
): Promise<BlockText> {
  const { blockId } = key;
  const isLong = row?.data === null;
  const stored = isLong ? (await blocksOf(database, [key], row.bytes)).get(blockId) : row;
  const signal = SIGNALS.get(stored?.signal ?? 0) ?? null;
  try {
    if (stored === undefined || stored.data === null) {
      throw new MissingBlockError(blockId);
    }
    const { signal: _number, data, ...block } = stored;
    if (signal === null) throw new UnreadableBlockError(blockId, 'its signal is not known');
    return { ...key, signal, text: await readBlock({ ...block, data }, codecs) };
  } catch (error) {
    if (error instanceof UnreadableBlockError || error instanceof UnsupportedCodecError) {
      return { ...key, signal, error };
    }
    throw error;
  }
}
