/**
 * Finds the blocks that may contain a text, the newest first (docs/decisions/0026-text-search.md): packed blocks by
 * their filters, and the runs whose records are not packed yet.
 */
import type { Hex16 } from '../../../model/json.ts';
import { decodeRanges, type RecordRanges } from '../../../model/record-ranges.ts';
import type { Database } from '../../database.ts';
import type { RunToRead } from '../../runs/run-to-read.ts';
import { utcDayOf } from '../../sql-times.ts';
import type { BlockKey } from '../stored-blocks.ts';

/** Filters that one statement tests: 10 MB at most, if blocks have their usual size. */
export const FILTERS_MAX = 1000;
/** Runs that wait for their evaluation, or have late steps, and are searched. */
export const PENDING_RUNS_MAX = 200;

export interface SearchedRange {
  readonly workspaceId: number;
  /** ids of blocks: from the first, included, to the last, not included */
  readonly from: string;
  readonly to: string;
  /** the UTC day of `from` */
  readonly fromDay: string;
}

/** A packed block, and whether its filter lets the text be in it. */
export interface FilteredBlock extends BlockKey {
  readonly mayContain: boolean;
}

/** SQL condition: a filter lets a text be in its block. @param hashes parameter with those of the text (`hashesOf`) */
export const letsIn = (hashes: string): string =>
  `NOT EXISTS (SELECT FROM unnest(${hashes}::int[]) AS hash
                      WHERE get_bit(filter, (hash % (8 * octet_length(filter)))::bigint) = 0)`;

const FILTERED = `
  WITH newest AS MATERIALIZED (
    SELECT block_id, arrived_on, filter || ''::bytea AS filter FROM blocks
     WHERE workspace_id = $1 AND filter IS NOT NULL AND block_id >= $2::uuid AND block_id < $3::uuid
       AND arrived_on >= $4::date
     ORDER BY block_id DESC LIMIT ${FILTERS_MAX})
  SELECT block_id AS "blockId", arrived_on::text AS "arrivedOn",
         ${letsIn('$5')} AS "mayContain"
    FROM newest ORDER BY block_id DESC`;

export async function filterBlocks(
  database: Database,
  { workspaceId, from, to, fromDay }: SearchedRange,
  hashes: readonly number[],
): Promise<readonly FilteredBlock[]> {
  const { rows } = await database.query<FilteredBlock>(FILTERED, [
    workspaceId,
    from,
    to,
    fromDay,
    hashes,
  ]);
  return rows;
}

export interface RunRecords {
  readonly runId: Hex16;
  readonly records: RecordRanges;
}

export async function runsOfBlock(
  database: Database,
  workspaceId: number,
  { blockId, arrivedOn }: BlockKey,
): Promise<readonly RunRecords[]> {
  const { rows } = await database.query<{ runId: Hex16; records: Buffer }>(
    `SELECT run_id AS "runId", records FROM places
      WHERE block_id = $1 AND workspace_id = $2 AND arrived_on = $3::date`,
    [blockId, workspaceId, arrivedOn],
  );
  return rows.map(({ runId, records }) => ({ runId, records: decodeRanges(records) }));
}

/** As the indexes `runs_running` and `runs_finished`. */
const PENDING = (condition: string): string => `
  (SELECT run_id AS "runId", workspace_id AS "workspaceId", first_arrival_at, ${utcDayOf('first_arrival_at')} AS "firstArrivalOn",
          ${utcDayOf('last_arrival_at')} AS "lastArrivalOn"
     FROM runs WHERE workspace_id = $1 AND ${condition} AND attempts < 5
    ORDER BY least(last_arrival_at, settles_until) DESC LIMIT ${PENDING_RUNS_MAX + 1})`;
const PENDING_RUNS = `
  SELECT "runId", "workspaceId", "firstArrivalOn", "lastArrivalOn" FROM (
    ${PENDING("evaluation = 'pending' AND state = 'running'")}
    UNION ALL
    ${PENDING("(evaluation = 'pending' OR late_waits) AND state <> 'running'")}) AS pending
   ORDER BY first_arrival_at DESC LIMIT ${PENDING_RUNS_MAX + 1}`;

/** Returns the newest runs whose records are not packed, because they are not evaluated: one more than are searched, if there are. */
export async function pendingRuns(
  database: Database,
  workspaceId: number,
): Promise<readonly RunToRead[]> {
  return (await database.query<RunToRead>(PENDING_RUNS, [workspaceId])).rows;
}
