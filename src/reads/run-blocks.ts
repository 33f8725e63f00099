/** Reads the blocks of a whole run for an export, a few at a time, with the numbers of the run's records in each. */

import type { Database } from '../db/database.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { type BlockText, readBlocks } from '../db/telemetry/stored-blocks.ts';
import { findPlaces } from '../db/telemetry/stored-places.ts';
import type { RecordRanges } from '../model/record-ranges.ts';
import { byStoredBlock, storedRecordsOf } from './placed-records.ts';

/** Most places of a run. A run with more cannot be exported alone. */
const PLACES_MAX = 200_000;

export interface BlockOfRun {
  readonly block: BlockText;
  /** numbers of the run's records; none if its place is damaged */
  readonly wanted: RecordRanges;
}

/** Yields the blocks of a run. @throws {RangeError} when it has more than `PLACES_MAX` places */
export async function* blocksOfRun(database: Database, run: RunToRead): AsyncGenerator<BlockOfRun> {
  const [found] = await findPlaces(database, [run], PLACES_MAX);
  const places = found?.places ?? [];
  if (places.length === PLACES_MAX) {
    throw new RangeError(`Run ${run.runId} has more than ${PLACES_MAX} places.`);
  }
  let at = 0;
  const stored = [...byStoredBlock(places).values()].flatMap(storedRecordsOf);
  for await (const block of readBlocks(database, stored)) {
    yield { block, wanted: stored[at]?.records ?? [] };
    at += 1;
  }
}
