/**
 * Stores packed blocks and their places, in a transaction that holds the locks of their runs. Records that were
 * packed meanwhile are not packed again.
 */
import { encodedBytesMax, encodeRanges, type RecordRanges } from '../../../model/record-ranges.ts';
import type { Signal } from '../../../model/telemetry.ts';
import { type Columns, tableOf, valuesOf } from '../../columns.ts';
import type { Connection } from '../../database.ts';
import type { TelemetryPlacement } from '../../placement.ts';
import { SIGNAL_NUMBERS } from '../blocks.ts';
import type { RecordsOfBlock } from '../stored-blocks.ts';
import type { PackedBlock } from './packed-block.ts';
import { encodeSources } from './sources.ts';

export interface PackedPlace {
  readonly workspaceId: number;
  readonly runId: string;
  /** of its latest hot place */
  readonly arrivedAtMicros: number;
  /** number in the packed block of the first record, and the number after the last */
  readonly start: number;
  readonly end: number;
  /** where they arrived, in the order of the records; all on the day of the block */
  readonly sources: readonly Pick<RecordsOfBlock, 'blockId' | 'records'>[];
}

export interface NewPackedBlock extends PackedBlock {
  readonly id: string;
  readonly workspaceId: number;
  readonly arrivedOn: string;
  readonly signal: Signal;
  readonly records: number;
  readonly places: readonly PackedPlace[];
  readonly filter: Buffer;
}

export interface PackedCounts {
  readonly runs: number;
  readonly blocks: number;
  /** before and after compression */
  readonly bytes: number;
  readonly storedBytes: number;
}

type RunKey = Pick<PackedPlace, 'workspaceId' | 'runId'>;

export const keyOf = ({ workspaceId, runId }: RunKey): string => `${workspaceId} ${runId}`;

const KNOWN: Readonly<Record<TelemetryPlacement, string>> = {
  local: `
  SELECT p.workspace_id AS "workspaceId", p.run_id AS "runId", p.sources::text[]
    FROM unnest($1::int[], $2::uuid[]) AS run (workspace_id, run_id)
   CROSS JOIN LATERAL (
     SELECT workspace_id, run_id, sources FROM places
      WHERE workspace_id = run.workspace_id AND run_id = run.run_id
        AND arrived_on = ANY ($3::date[])
     OFFSET 0) AS p`,
  // Citus sends no LATERAL to workers. Places of other pairs of these ids do no harm.
  distributed: `
  SELECT workspace_id AS "workspaceId", run_id AS "runId", sources::text[] FROM places
   WHERE workspace_id = ANY ($1::int[]) AND run_id = ANY ($2::uuid[]) AND arrived_on = ANY ($3::date[])`,
};

/** Returns the hot blocks whose records of some days are packed, by run (`keyOf`). */
export async function packedSources(
  connection: Pick<Connection, 'query'>,
  placement: TelemetryPlacement,
  runs: readonly RunKey[],
  days: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const known = new Map<string, Set<string>>();
  if (runs.length === 0) return known;
  const { rows } = await connection.query<RunKey & { readonly sources: string[] }>(
    KNOWN[placement],
    [runs.map(({ workspaceId }) => workspaceId), runs.map(({ runId }) => runId), days],
  );
  for (const { sources, ...run } of rows) {
    const of = known.get(keyOf(run)) ?? new Set();
    for (const source of sources) of.add(source.replaceAll('-', ''));
    known.set(keyOf(run), of);
  }
  return known;
}

/** A block, and where its parts begin in those of all blocks. */
type BlockRow = NewPackedBlock & { readonly at: number };

const BLOCK_COLUMNS: Columns<BlockRow> = {
  block_id: ['uuid', ({ id }) => id],
  workspace_id: ['int', ({ workspaceId }) => workspaceId],
  arrived_on: ['date', ({ arrivedOn }) => arrivedOn],
  bytes: ['int', ({ bytes }) => bytes],
  records: ['int', ({ records }) => records],
  checksum: ['int', ({ documents }) => documents.checksum],
  narrow_bytes: ['int', ({ narrow }) => narrow.bytes],
  documents_bytes: ['int', ({ documents }) => documents.bytes],
  narrow_checksum: ['int', ({ narrow }) => narrow.checksum],
  signal: ['smallint', ({ signal }) => SIGNAL_NUMBERS[signal]],
  codec: ['smallint', ({ codec }) => codec],
  narrow_length: ['int', ({ narrow }) => narrow.data.length],
  data_length: ['int', ({ documents }) => documents.data.length],
  filter_length: ['int', ({ filter }) => filter.length],
  at: ['int', ({ at }) => at],
};

/** `$1` has the parts and filters of all blocks, one after another; binary, because text has twice the bytes. */
const INSERT_BLOCKS = `
  INSERT INTO blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, narrow_bytes,
    documents_bytes, narrow_checksum, signal, codec, narrow, data, filter)
  SELECT block_id, workspace_id, arrived_on, bytes, records, checksum, narrow_bytes, documents_bytes,
         narrow_checksum, signal, codec, substr($1::bytea, at, narrow_length),
         substr($1::bytea, at + narrow_length, data_length),
         substr($1::bytea, at + narrow_length + data_length, filter_length)
    FROM ${tableOf(BLOCK_COLUMNS, 2)}`;

interface NewPlace {
  readonly blockId: string;
  readonly runId: string;
  readonly workspaceId: number;
  readonly arrivedOn: string;
  readonly arrivedAtMicros: number;
  readonly records: RecordRanges;
  readonly sources: PackedPlace['sources'];
}

const PLACE_COLUMNS: Columns<NewPlace> = {
  block_id: ['uuid', ({ blockId }) => blockId],
  run_id: ['uuid', ({ runId }) => runId],
  workspace_id: ['int', ({ workspaceId }) => workspaceId],
  arrived_on: ['date', ({ arrivedOn }) => arrivedOn],
  arrived_at: ['float8', ({ arrivedAtMicros }) => arrivedAtMicros],
  records: ['text', ({ records }) => encodedRanges(records).toString('hex')],
  sources: ['text', ({ sources }) => `{${sources.map(({ blockId }) => blockId).join(',')}}`],
  source_records: [
    'text',
    ({ sources }) => encodeSources(sources.map(({ records }) => records)).toString('hex'),
  ],
};
const INSERT_PLACES = `
  INSERT INTO places (block_id, run_id, arrived_at, workspace_id, arrived_on, records, sources, source_records)
  SELECT block_id, run_id, 'epoch'::timestamptz + arrived_at * interval '1 microsecond', workspace_id,
         arrived_on, decode(records, 'hex'), sources::uuid[], decode(source_records, 'hex')
    FROM ${tableOf(PLACE_COLUMNS)}`;

/** Most bytes that one statement stores, unless it is one block. */
const STATEMENT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Stores the packed blocks of runs. A block that also has records of another run is not stored, and no block of the
 * runs in it, which stay hot: every record of a stored block has a place, so that an export can take blocks whole.
 */
export async function storePacked(
  connection: Pick<Connection, 'query'>,
  blocks: readonly NewPackedBlock[],
  runs: ReadonlySet<string>,
): Promise<PackedCounts> {
  const packed = new Set(runs);
  let kept = blocks;
  for (let before = -1; before !== kept.length; ) {
    before = kept.length;
    const isWhole = ({ places }: NewPackedBlock) =>
      places.every((place) => packed.has(keyOf(place)));
    const left = kept.filter((block) => !isWhole(block));
    kept = kept.filter(isWhole);
    for (const { places } of left) for (const place of places) packed.delete(keyOf(place));
  }
  return await insertPacked(connection, kept);
}

export async function insertPacked(
  connection: Pick<Connection, 'query'>,
  blocks: readonly NewPackedBlock[],
): Promise<PackedCounts> {
  await insertBlocks(connection, blocks);
  const places = blocks.flatMap(({ id, arrivedOn, places: own }) =>
    own.map((place) => ({ ...place, arrivedOn, blockId: id, records: [place.start, place.end] })),
  );
  await insertPlaces(connection, places);
  return {
    runs: new Set(places.map(keyOf)).size,
    blocks: blocks.length,
    bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0),
    storedBytes: blocks.reduce((sum, block) => sum + storedBytesOf(block), 0),
  };
}

const storedBytesOf = ({ narrow, documents, filter }: NewPackedBlock): number =>
  narrow.data.length + documents.data.length + filter.length;

async function insertBlocks(
  connection: Pick<Connection, 'query'>,
  blocks: readonly NewPackedBlock[],
): Promise<void> {
  for (let at = 0; at < blocks.length; ) {
    const some: NewPackedBlock[] = [];
    let bytes = 0;
    for (; at < blocks.length; at += 1) {
      const block = blocks[at] as NewPackedBlock;
      bytes += storedBytesOf(block);
      if (some.length > 0 && bytes > STATEMENT_BYTES_MAX) break;
      some.push(block);
    }
    const parts = some.flatMap(({ narrow, documents, filter }) => [
      narrow.data,
      documents.data,
      filter,
    ]);
    let next = 1;
    const rows = some.map((block): BlockRow => {
      const at = next;
      next += storedBytesOf(block);
      return { ...block, at };
    });
    await connection.query(INSERT_BLOCKS, [Buffer.concat(parts), ...valuesOf(BLOCK_COLUMNS, rows)]);
  }
}

function encodedRanges(ranges: RecordRanges): Buffer {
  const bytes = Buffer.allocUnsafe(encodedBytesMax(ranges));
  return bytes.subarray(0, encodeRanges(ranges, bytes, 0));
}

export async function insertPlaces(
  connection: Pick<Connection, 'query'>,
  places: readonly NewPlace[],
): Promise<void> {
  if (places.length === 0) return;
  await connection.query(INSERT_PLACES, valuesOf(PLACE_COLUMNS, places));
}
