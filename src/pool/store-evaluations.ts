/**
 * Stores evaluated runs, their records packed by run, and the definitions of their tools, in one transaction: a run that somebody else has claimed
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
import { knownToolLists, type RunWithTools, storeTools } from '../db/tools/store-tools.ts';
import type { Severity, Snapshot } from '../model/rules.ts';
import { packRuns } from '../reads/pack-runs.ts';
import type { HotRecords } from '../reads/run-reading.ts';
import { reasonOf } from './reason.ts';

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
  /** definitions of tools that were not kept, because their workspaces have too many */
  readonly refusedTools: number;
}

/**
 * Stores evaluated runs. If their records or tools cannot be stored, the runs are stored without that: the upkeep of
 * hot days packs them, and the next run with the same tools stores those.
 *
 * @throws PostgreSQL's error; its `detail` may quote a row
 */
export async function storeEvaluations(
  database: Database,
  runs: readonly RunToStore[],
  snapshot: Pick<Snapshot, 'version' | 'identity'>,
): Promise<StoredEvaluations> {
  const knownTools = knownToolLists(database);
  const tools = knownTools.unknown(runs.flatMap(({ evaluation }) => toolsOf(evaluation)));
  let blocks: readonly NewPackedBlock[] = [];
  let notPacked: string | null = null;
  try {
    blocks = await packRuns(runs.map(({ evaluation, hot }) => ({ ...keyOfRun(evaluation), hot })));
  } catch (error) {
    notPacked = reasonOf(error);
  }
  try {
    if (blocks.length > 0 || tools.length > 0) {
      const stored = await storeTogether(database, runs, blocks, snapshot, tools);
      knownTools.add(stored.tools);
      return { ...stored, notPacked };
    }
  } catch (error) {
    if (isOutage(error)) throw error;
    notPacked = reasonOf(error);
  }
  const evaluations = runs.map(({ evaluation }) => evaluation);
  const severities = await completeRuns(database, evaluations, snapshot);
  return { severities, packed: null, notPacked, refusedTools: 0 };
}

const toolsOf = ({ run: { workspaceId, runId }, toolList }: EvaluatedRun): RunWithTools[] =>
  toolList == null ? [] : [{ workspaceId, runId, list: toolList }];

async function storeTogether(
  database: Database,
  runs: readonly RunToStore[],
  blocks: readonly NewPackedBlock[],
  snapshot: Pick<Snapshot, 'version' | 'identity'>,
  unknownTools: readonly RunWithTools[],
): Promise<Omit<StoredEvaluations, 'notPacked'> & { readonly tools: readonly RunWithTools[] }> {
  const evaluations = runs.map(({ evaluation }) => evaluation);
  const placement = await placementOf(database);
  return await inTransaction(database, async (connection) => {
    const severities = await completeRuns(connection, evaluations, snapshot);
    // The runs are locked from here on: nobody else packs them.
    const completed = runs.filter((_, index) => severities[index] !== null);
    const done = new Set(completed.map(({ evaluation }) => keyOf(keyOfRun(evaluation))));
    const tools = unknownTools.filter((run) => done.has(keyOf(run)));
    const refusedTools = await storeTools(connection, tools);
    if (blocks.length === 0) return { severities, packed: null, tools, refusedTools };
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
    return { severities, packed, tools, refusedTools };
  });
}

const keyOfRun = ({ run: { workspaceId, runId } }: EvaluatedRun) => ({ workspaceId, runId });
