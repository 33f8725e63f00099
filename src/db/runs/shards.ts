/**
 * The coordinator's knowledge of runs in a Citus cluster, with telemetry that is distributed
 * (docs/decisions/0018-citus.md): on which shard a run's steps are, and whether all of them can be read.
 */
import type { Database } from '../database.ts';
import { LEASES, partOf, WHOLE_RUN } from './late-steps.ts';
import type { RunToRead } from './run-to-read.ts';

export interface ShardOfRuns {
  /** the runs' indexes in the request, in order */
  readonly places: readonly number[];
  /** how many steps of each are to be read; 0 for a run that retention has removed */
  readonly totals: readonly number[];
  /** the parts of their claims (late-steps.ts), column by column */
  readonly parts: readonly (readonly (string | null)[])[];
}

/** The runs by shard, the first run's shard first. Tables that are distributed by run have the same shards. */
export async function byShard(
  database: Database,
  runs: readonly RunToRead[],
): Promise<readonly ShardOfRuns[]> {
  const areClaimed = runs.some(({ steps }) => steps !== undefined);
  const { rows } = await database.query<ShardOfRuns>(
    `SELECT array_agg(place::int - 1 ORDER BY place) AS places, array_agg(total ORDER BY place) AS totals,
            json_build_array(json_agg(claimed_to::text ORDER BY place),
              json_agg(claimed_without::text ORDER BY place), json_agg(evaluated_to::text ORDER BY place),
              json_agg(evaluated_without::text ORDER BY place)) AS parts
       FROM (SELECT t.place, t.run_id, ${areClaimed ? partOf('t.claimed') : WHOLE_RUN},
                    coalesce(t.claimed, r.spans + r.repeated_spans + r.log_records, 0) AS total
               FROM unnest($1::int[], $2::uuid[], $3::int[]) WITH ORDINALITY
                    AS t (workspace_id, run_id, claimed, place)
               LEFT JOIN runs AS r ON r.workspace_id = t.workspace_id AND r.run_id = t.run_id
               ${areClaimed ? LEASES : ''}) AS run
      GROUP BY get_shard_id_for_distribution_column('places', run_id)
      ORDER BY min(place)`,
    [
      runs.map(({ workspaceId }) => workspaceId),
      runs.map(({ runId }) => runId),
      runs.map(({ steps }) => steps ?? null),
    ],
  );
  return rows;
}

/**
 * A worker had prepared a batch that is committed on the coordinator, and was lost before it committed
 * too. When it is back, Citus commits it within `citus.recover_2pc_interval`; until then its rows cannot
 * be read.
 */
class UnfinishedCommitError extends Error {
  /** transaction_resolution_unknown: an outage (`outage.ts`), so the run loses no attempt */
  readonly code = '08007';
  constructor() {
    super('A worker has prepared transactions that it has not committed yet.');
  }
}

const PREPARED = `EXISTS (SELECT FROM pg_prepared_xact() WHERE gid LIKE 'citus\\_%')`;

/** Check the worker that has the run, or the block: naming the table in a subquery sends them there. */
const UNFINISHED_RUN = `
  SELECT (SELECT count(*) FROM hot_places WHERE run_id = $1 AND arrived_on = $2) >= 0 AND ${PREPARED}
      AS "isUnfinished"`;
const UNFINISHED_BLOCK = `
  SELECT (SELECT count(*) FROM hot_blocks WHERE block_id = $1 AND arrived_on = $2) >= 0 AND ${PREPARED}
      AS "isUnfinished"`;

/** Checks whether a worker may still have what a reader did not find. @throws {UnfinishedCommitError} */
export async function requireFinished(
  database: Database,
  runs: readonly RunToRead[],
  blocks: readonly { readonly blockId: string; readonly arrivedOn: string }[],
): Promise<void> {
  const checks = [
    ...runs.map(({ runId, lastArrivalOn }) => [UNFINISHED_RUN, runId, lastArrivalOn] as const),
    ...blocks.map(({ blockId, arrivedOn }) => [UNFINISHED_BLOCK, blockId, arrivedOn] as const),
  ];
  for (const [text, ...values] of checks) {
    const { rows } = await database.query<{ isUnfinished: boolean }>(text, values);
    if (rows[0]?.isUnfinished === true) throw new UnfinishedCommitError();
  }
}
