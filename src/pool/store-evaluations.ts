/**
 * Stores evaluated runs, and their records packed by run, in one transaction: a run that somebody else has claimed
 * is neither completed nor packed (docs/decisions/0009-hot-and-packed-blocks.md).
 */
import { type Database, inTransaction } from '../db/database.ts';
import { isOutage } from '../db/outage.ts';
import { placementOf } from '../db/placement.ts';
import { completeRuns, type EvaluatedRun } from '../db/runs/complete-runs.ts';
import {
  keyOf,
  type NewPackedBlock,
  type PackedCounts,
  packedSources,
  storePacked,
} from '../db/telemetry/packed/store-packed.ts';
import type { Severity, Snapshot } from '../model/rules.ts';
import { packRuns } from '../reads/pack-runs.ts';
import type { HotRecords } from '../reads/run-reading.ts';
import { reasonOf } from './reason.ts';

/** An evaluated run with its hot records. */
export interface RunToStore {
  readonly evaluation: EvaluatedRun;
  readonly hot: readonly HotRecords[];
}

export interface StoredEvaluations {
  /** as `completeRuns` */
  readonly severities: readonly (readonly Severity[] | null)[];
  readonly packed: PackedCounts | null;
  /** why no run was packed; null if nothing failed */
  readonly notPacked: string | null;
}

/**
 * Stores evaluated runs. If their records cannot be packed, the runs are stored without that, and the upkeep of
 * hot days packs them.
 *
 * @throws PostgreSQL's error; its `detail` may quote a row
 */
export async function storeEvaluations(
  database: Database,
  runs: readonly RunToStore[],
  snapshot: Pick<Snapshot, 'version' | 'identity'>,
): Promise<StoredEvaluations> {
  const evaluations = runs.map(({ evaluation }) => evaluation);
  let notPacked: string | null = null;
  try {
    const blocks = await packRuns(
      runs.map(({ evaluation, hot }) => ({ ...keyOfRun(evaluation), hot })),
    );
    if (blocks.length > 0) return await storePackedRuns(database, runs, blocks, snapshot);
  } catch (error) {
    if (isOutage(error)) throw error;
    notPacked = reasonOf(error);
  }
  const severities = await completeRuns(database, evaluations, snapshot);
  return { severities, packed: null, notPacked };
}

async function storePackedRuns(
  database: Database,
  runs: readonly RunToStore[],
  blocks: readonly NewPackedBlock[],
  snapshot: Pick<Snapshot, 'version' | 'identity'>,
): Promise<StoredEvaluations> {
  const evaluations = runs.map(({ evaluation }) => evaluation);
  const placement = await placementOf(database);
  return await inTransaction(database, async (connection) => {
    const severities = await completeRuns(connection, evaluations, snapshot);
    // The runs are locked from here on: nobody else packs them.
    const completed = runs.filter((_, index) => severities[index] !== null);
    const days = completed.flatMap(({ hot }) => hot.map(({ place }) => place.arrivedOn));
    const known = await packedSources(
      connection,
      placement,
      completed.map(({ evaluation }) => keyOfRun(evaluation)),
      [...new Set(days)],
    );
    const own = new Set<string>();
    for (const { evaluation, hot } of completed) {
      const key = keyOf(keyOfRun(evaluation));
      const sources = known.get(key);
      if (!hot.some(({ place }) => sources?.has(place.blockId))) own.add(key);
    }
    const packed = await storePacked(connection, blocks, own);
    return { severities, packed, notPacked: null };
  });
}

const keyOfRun = ({ run: { workspaceId, runId } }: EvaluatedRun) => ({ workspaceId, runId });
