/** Reads a sample of the stored blocks and places, for `sluice doctor`. */
import { countRecords, decodeRanges } from '../../model/record-ranges.ts';
import { onlyRow, type Queryable } from '../database.ts';
import { lookUp } from '../placement.ts';
import { UnreadableBlockError, UnsupportedCodecError } from './block-codec.ts';
import { decodeSources } from './packed/sources.ts';
import { HOT_TEXT_COLUMNS, readText, TEXT_COLUMNS, type TextRow } from './stored-blocks.ts';

/** Maximum number of blocks to read, half of them hot: about 6 MB. */
export const CHECKED_BLOCKS_MAX = 100;
/** Maximum number of places to check, half of them hot. */
export const CHECKED_PLACES_MAX = 100;
/** Pages of a table to sample; each has at least one row, and mostly many. */
const SAMPLED_PAGES = 200;

export interface BlockCheck {
  readonly checked: number;
  readonly faults: readonly string[];
  /** blocks whose codec this process does not have; they may be as they were stored */
  readonly unsupported: number;
}

export interface PlaceCheck {
  readonly checked: number;
  readonly faults: readonly string[];
}

/**
 * Reads rows of random pages of a partitioned table, different ones each time. Only an empty table
 * yields none: the share of pages to read follows from the size of the files, not from statistics.
 */
async function sampleRows<Row extends object>(
  database: Queryable,
  table: string,
  columns: string,
  rowsMax: number,
): Promise<Row[]> {
  const size = (await lookUp(database)) === 'local' ? 'pg_relation_size' : 'citus_relation_size';
  const { pages } = onlyRow(
    await database.query<{ pages: number }>(
      `SELECT coalesce(sum(${size}(inhrelid)), 0)::float8
                / current_setting('block_size')::int AS pages
         FROM pg_inherits WHERE inhparent = $1::regclass`,
      [table],
    ),
  );
  const percent = Math.min(100, (100 * SAMPLED_PAGES) / Math.max(pages, 1));
  // In random order, because LIMIT would prefer the rows of the first days.
  const { rows } = await database.query<Row>(
    `SELECT ${columns} FROM ${table} TABLESAMPLE SYSTEM ($1) ORDER BY random() LIMIT ${rowsMax}`,
    [percent],
  );
  return rows;
}

export async function checkBlocks(database: Queryable): Promise<BlockCheck> {
  const hot = `block_id::text AS id, ${HOT_TEXT_COLUMNS}, data, NULL::bytea AS narrow`;
  const blocks = [
    ...(await sampleRows<TextRow>(database, 'hot_blocks', hot, CHECKED_BLOCKS_MAX / 2)),
    ...(await sampleRows<TextRow>(
      database,
      'blocks',
      `block_id::text AS id, ${TEXT_COLUMNS}, data, narrow`,
      CHECKED_BLOCKS_MAX / 2,
    )),
  ];
  const faults: string[] = [];
  let unsupported = 0;
  for (const block of blocks) {
    try {
      await readText(block);
    } catch (error) {
      if (error instanceof UnsupportedCodecError) unsupported += 1;
      else if (error instanceof UnreadableBlockError) faults.push(error.message);
      else throw error;
    }
  }
  return { checked: blocks.length, faults, unsupported };
}

interface StoredPlace {
  readonly runId: string;
  readonly blockId: string;
  readonly workspaceId: number;
  readonly day: string;
  readonly records: Buffer;
  readonly sources: readonly string[] | null;
  readonly sourceRecords: Buffer;
}

const PLACE_COLUMNS = `run_id::text AS "runId", block_id::text AS "blockId",
  workspace_id AS "workspaceId", arrived_on::text AS day, records`;
const SOURCE_COLUMNS = 'sources, source_records AS "sourceRecords"';
const HOT_SOURCE_COLUMNS = 'NULL::uuid[] AS sources, NULL::bytea AS "sourceRecords"';

/** Without a join: on a Citus cluster a place and its block are on different shards. */
const BLOCKS_OF_PLACES = `
  SELECT block_id::text AS "blockId", workspace_id AS "workspaceId", arrived_on::text AS day, records
    FROM hot_blocks WHERE block_id = ANY ($1::uuid[])
   UNION ALL
  SELECT block_id::text AS "blockId", workspace_id AS "workspaceId", arrived_on::text AS day, records
    FROM blocks WHERE block_id = ANY ($1::uuid[])`;

type BlockOfPlace = Pick<StoredPlace, 'blockId' | 'workspaceId' | 'day'> & {
  readonly records: number;
};

/** Checks up to `CHECKED_PLACES_MAX` places against their blocks, whose data it does not read. */
export async function checkPlaces(database: Queryable): Promise<PlaceCheck> {
  const sample = (table: string, sources: string) =>
    sampleRows<StoredPlace>(
      database,
      table,
      `${PLACE_COLUMNS}, ${sources}`,
      CHECKED_PLACES_MAX / 2,
    );
  const places = [
    ...(await sample('hot_places', HOT_SOURCE_COLUMNS)),
    ...(await sample('places', SOURCE_COLUMNS)),
  ];
  const { rows } = await database.query<BlockOfPlace>(BLOCKS_OF_PLACES, [
    places.map(({ blockId }) => blockId),
  ]);
  const blocks = new Map(rows.map((block) => [block.blockId, block]));
  const faults = places.flatMap((place) => {
    const reason = faultOf(place, blocks.get(place.blockId));
    if (reason === null) return [];
    return [`The place of run ${place.runId} in block ${place.blockId} is wrong: ${reason}.`];
  });
  return { checked: places.length, faults };
}

function faultOf(place: StoredPlace, block: BlockOfPlace | undefined): string | null {
  if (block === undefined) return 'there is no such block';
  if (block.workspaceId !== place.workspaceId) return 'the block is in another workspace';
  if (block.day !== place.day) return 'the block is of another day';
  try {
    const records = decodeRanges(place.records);
    const end = records.at(-1) ?? 0;
    if (end === 0) return 'it names no record';
    if (end > block.records) {
      return `it names record ${end - 1}, and the block has ${block.records}, from 0`;
    }
    if (place.sources === null) return null;
    const sources = decodeSources(place.sources.length, place.sourceRecords);
    const arrived = sources.reduce((sum, source) => sum + countRecords(source), 0);
    return arrived === countRecords(records) ? null : 'its sources have other records';
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 'its records cannot be read';
  }
}
