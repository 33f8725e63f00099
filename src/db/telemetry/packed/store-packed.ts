/**
 * Stores packed blocks and their places, in a transaction that holds the locks of their runs. Records that were
 * packed meanwhile are not packed again.
 */
import { encodedBytesMax, encodeRanges, type RecordRanges } from '../../../model/record-ranges.ts';
import type { Signal } from '../../../model/telemetry.ts';
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

/**
 * Returns the hot blocks whose records are packed, by run (`keyOf`). @param days UTC days on which the
 * records arrived
 */
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

/** `$14` has the parts and filters of all blocks, one after another; binary, because text has twice the bytes. */
const INSERT_BLOCKS = `
  INSERT INTO blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, narrow_bytes,
    documents_bytes, narrow_checksum, signal, codec, narrow, data, filter)
  SELECT block_id, workspace_id, arrived_on, bytes, records, checksum, narrow_bytes, documents_bytes,
         narrow_checksum, signal, codec, substr($14::bytea, at, narrow_length),
         substr($14::bytea, at + narrow_length, data_length),
         substr($14::bytea, at + narrow_length + data_length, filter_length)
    FROM unnest($1::uuid[], $2::int[], $3::date[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
      $9::int[], $10::smallint[], $11::smallint[], $12::int[], $13::int[], $15::int[],
      $16::int[])
      AS t (block_id, workspace_id, arrived_on, bytes, records, checksum, narrow_bytes, documents_bytes,
        narrow_checksum, signal, codec, narrow_length, data_length, at, filter_length)`;

const INSERT_PLACES = `
  INSERT INTO places (block_id, run_id, arrived_at, workspace_id, arrived_on, records, sources, source_records)
  SELECT block_id, run_id, 'epoch'::timestamptz + arrived_at * interval '1 microsecond', workspace_id,
         arrived_on, decode(records, 'hex'), sources::uuid[], decode(source_records, 'hex')
    FROM unnest($1::uuid[], $2::uuid[], $3::float8[], $4::int[], $5::date[], $6::text[], $7::text[], $8::text[])
      AS t (block_id, run_id, arrived_at, workspace_id, arrived_on, records, sources, source_records)`;

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
  const places = blocks.flatMap((block) => block.places.map((place) => ({ block, place })));
  if (places.length > 0) await insertPlaces(connection, places);
  return {
    runs: new Set(places.map(({ place }) => keyOf(place))).size,
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
    await connection.query(INSERT_BLOCKS, columnsOf(some));
  }
}

function columnsOf(blocks: readonly NewPackedBlock[]): unknown[] {
  const column = <T>(value: (block: NewPackedBlock) => T): T[] => blocks.map(value);
  let next = 1;
  const starts = blocks.map((block) => {
    const start = next;
    next += storedBytesOf(block);
    return start;
  });
  return [
    column(({ id }) => id),
    column(({ workspaceId }) => workspaceId),
    column(({ arrivedOn }) => arrivedOn),
    column(({ bytes }) => bytes),
    column(({ records }) => records),
    column(({ documents }) => documents.checksum),
    column(({ narrow }) => narrow.bytes),
    column(({ documents }) => documents.bytes),
    column(({ narrow }) => narrow.checksum),
    column(({ signal }) => SIGNAL_NUMBERS[signal]),
    column(({ codec }) => codec),
    column(({ narrow }) => narrow.data.length),
    column(({ documents }) => documents.data.length),
    Buffer.concat(
      blocks.flatMap(({ narrow, documents, filter }) => [narrow.data, documents.data, filter]),
    ),
    starts,
    column(({ filter }) => filter.length),
  ];
}

export function encodedRanges(ranges: RecordRanges): Buffer {
  const bytes = Buffer.allocUnsafe(encodedBytesMax(ranges));
  return bytes.subarray(0, encodeRanges(ranges, bytes, 0));
}

async function insertPlaces(
  connection: Pick<Connection, 'query'>,
  places: readonly { readonly block: NewPackedBlock; readonly place: PackedPlace }[],
): Promise<void> {
  await connection.query(INSERT_PLACES, [
    places.map(({ block }) => block.id),
    places.map(({ place }) => place.runId),
    places.map(({ place }) => place.arrivedAtMicros),
    places.map(({ place }) => place.workspaceId),
    places.map(({ block }) => block.arrivedOn),
    places.map(({ place }) => encodedRanges([place.start, place.end]).toString('hex')),
    places.map(({ place }) => `{${place.sources.map(({ blockId }) => blockId).join(',')}}`),
    places.map(({ place }) =>
      encodeSources(place.sources.map(({ records }) => records)).toString('hex'),
    ),
  ]);
}
