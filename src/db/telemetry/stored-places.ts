/**
 * Finds the places of runs. A place names the records of one block that belong to a run. No statement joins the
 * two: on a Citus cluster they are on different nodes.
 *
 *   runs ─► findPlaces ─► places ─► their blocks, each once ─► readBlocks ─► texts, one at a time
 *
 * Records keep the address at which they arrived: a hot block and their numbers in it. Where records are packed,
 * their hot places are ignored, whether they are still there or not, so no record is read twice.
 */

import { countRecords, decodeRanges, type RecordRanges } from '../../model/record-ranges.ts';
import type { Database } from '../database.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { isInPart, LEASES, partOf, WHOLE_RUN } from '../runs/late-steps.ts';
import type { RunToRead } from '../runs/run-to-read.ts';
import { byShard } from '../runs/shards.ts';
import { decodeSources } from './packed/sources.ts';
import type { RecordsOfBlock } from './stored-blocks.ts';

export interface RunPlace extends RecordsOfBlock {
  /** where they are stored: as they arrived, or packed, in the same order */
  readonly stored: RecordsOfBlock;
  /** all records of a hot place; they are not packed */
  readonly isHot: boolean;
  /** when the transaction that stored them began, in microseconds since 1970 */
  readonly arrivedAtMicros: number;
  /** the run's claim is for them; true if the run was not claimed */
  readonly isInPart: boolean;
}

export interface PlacesOfRun {
  /** how many records are stored, of those that its claim is for; 0 for a run that retention has removed */
  readonly total: number;
  /** in the order of arrival */
  readonly places: readonly RunPlace[];
}

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

const selectFirst = (
  placement: TelemetryPlacement,
  table: 'hot_places' | 'places',
  sources: string,
): string => `
      SELECT * FROM (
        SELECT p.block_id, p.arrived_on, p.records, ${isInPart('p')} AS is_in_part, ${sources},
               (extract(epoch FROM p.arrived_at) * 1000000)::float8 AS arrived_at
          FROM ${table} AS p WHERE ${ofRun(placement)}
      ) AS p
       WHERE is_in_part OR run.is_late
       ORDER BY is_in_part DESC, arrived_on, coalesce(sources[1], block_id)`;

/**
 * LATERAL with LIMIT makes PostgreSQL look up each run by the index. Without statistics of today's
 * partition it might read the whole partition instead.
 */
const placesOf = (placement: TelemetryPlacement, runs: string): string => `
  WITH run AS (${runs})
  SELECT run.run_place::int - 1 AS run, run.total, place.block_id AS "blockId",
         place.arrived_on::text AS "arrivedOn", place.records, place.is_in_part AS "isInPart",
         place.sources::text[], place.source_records AS "sourceRecords", place.arrived_at AS "arrivedAtMicros"
    FROM run LEFT JOIN LATERAL (
      (${selectFirst(placement, 'places', 'p.sources, p.source_records')} LIMIT $7)
      UNION ALL
      (${selectFirst(placement, 'hot_places', 'NULL::uuid[] AS sources, NULL::bytea AS source_records')} LIMIT $7)
    ) AS place ON true`;
const FIND = {
  claimed: placesOf('local', localRuns(true)),
  local: placesOf('local', localRuns(false)),
  distributed: placesOf('distributed', DISTRIBUTED_RUNS),
};

interface FoundRow extends Pick<RunPlace, 'arrivedOn' | 'isInPart' | 'arrivedAtMicros'> {
  readonly run: number;
  readonly total: number;
  /** null for a run without places */
  readonly blockId: string | null;
  readonly records: Buffer;
  /** null for a hot place */
  readonly sources: readonly string[] | null;
  readonly sourceRecords: Buffer;
}

/**
 * Finds the places of runs. Each run is looked for on the days of its arrival, with a day to spare on
 * either side for clocks that differ. If the late steps of a run are claimed, the places of its
 * other steps come too.
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

async function findIn(
  database: Database,
  kind: keyof typeof FIND,
  runs: readonly RunToRead[],
  placesMax: number,
  counts: readonly (number | null)[],
  parts: readonly unknown[],
  rowsMax: number = placesMax,
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
    rowsMax,
    counts,
    runs.map(({ isLate }) => isLate === true),
    ...parts,
  ]);
  const found = runs.map(() => new FoundPlaces());
  for (const row of rows) {
    const of = found[row.run];
    if (of === undefined) throw new RangeError('a run that was not requested');
    of.add(row);
  }
  // Hot places that are packed took the room of others.
  if (found.some((of) => of.lacksRows(rowsMax, placesMax))) {
    return await findIn(database, kind, runs, placesMax, counts, parts, 2 * rowsMax);
  }
  return found.map((of) => of.first(placesMax));
}

class FoundPlaces {
  #total = 0;
  #hotRows = 0;
  readonly #packed: RunPlace[] = [];
  #hot: RunPlace[] = [];
  /** ids of hot blocks whose records are packed */
  readonly #sources = new Set<string>();

  add({ total, blockId, sources, ...row }: FoundRow): void {
    this.#total = total;
    if (blockId === null) return;
    const { arrivedOn, isInPart, arrivedAtMicros } = row;
    const stored = { blockId, arrivedOn, records: toRanges(row.records) };
    const common = { isInPart, arrivedAtMicros };
    if (sources === null) {
      this.#hotRows += 1;
      this.#hot.push({ ...stored, stored, isHot: true, ...common });
      return;
    }
    for (const place of unpack(stored, sources, row.sourceRecords)) {
      this.#packed.push({ ...place, isHot: false, ...common });
      if (place.records.length > 0) this.#sources.add(place.blockId);
    }
  }

  lacksRows(rowsMax: number, placesMax: number): boolean {
    return this.#hotRows >= rowsMax && this.#places().length < placesMax;
  }

  first(placesMax: number): PlacesOfRun {
    let places = this.#places();
    if (places.length > placesMax) {
      const own = places.filter(({ isInPart: isOwn }) => isOwn);
      const others = places.filter(({ isInPart: isOwn }) => !isOwn);
      places = [...own, ...others].slice(0, placesMax).sort(byArrival);
    }
    return { total: this.#total, places };
  }

  #places(): RunPlace[] {
    this.#hot = this.#hot.filter(({ blockId }) => !this.#sources.has(blockId));
    return [...this.#packed, ...this.#hot].sort(byArrival);
  }
}

function byArrival(one: RunPlace, other: RunPlace): number {
  if (one.arrivedOn !== other.arrivedOn) return one.arrivedOn < other.arrivedOn ? -1 : 1;
  if (one.blockId !== other.blockId) return one.blockId < other.blockId ? -1 : 1;
  return (one.records[0] ?? 0) - (other.records[0] ?? 0);
}

/**
 * Returns the sources of a packed place. If these are damaged, the place is returned without records, so that they
 * count as not read.
 */
function unpack(
  stored: RecordsOfBlock,
  blockIds: readonly string[],
  sourceRecords: Buffer,
): readonly Pick<RunPlace, keyof RecordsOfBlock | 'stored'>[] {
  const { blockId, arrivedOn, records } = stored;
  const damaged = { blockId, arrivedOn, records: [] };
  try {
    const decoded = decodeSources(blockIds.length, sourceRecords);
    const sources = blockIds.map((id, index) => ({
      blockId: id.replaceAll('-', ''),
      arrivedOn,
      records: decoded[index] ?? [],
    }));
    const only = sources.length === 1 ? sources[0] : undefined;
    // A hot block that could not be read is kept as it is.
    if (only?.blockId === blockId) return [{ ...only, stored }];
    let at = records[0] ?? 0;
    const places = sources.map((source) => {
      const start = at;
      at += countRecords(source.records);
      return { ...source, stored: { blockId, arrivedOn, records: [start, at] } };
    });
    return at === records[1] && records.length === 2 ? places : [{ ...damaged, stored: damaged }];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ ...damaged, stored: damaged }];
  }
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
