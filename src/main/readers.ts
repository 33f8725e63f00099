/** What the read API reads, over the database: findings, and runs with an outline of their steps. */
import type { Database } from '../db/database.ts';
import {
  findFinding,
  findPlace,
  listFindingFacts,
  listFindings,
  settledBefore,
} from '../db/findings/findings.ts';
import { createOverviewReader } from '../db/findings/overview.ts';
import { findRun, listRuns } from '../db/runs/runs.ts';
import { readOutlinedSteps } from '../db/runs/steps.ts';
import { outlineInPieces } from '../engine/run-outline.ts';
import type { ReadDependencies } from '../http/api/read-routes.ts';
import type { AppDependencies } from '../http/dashboard/app-routes.ts';
import { Turns } from '../http/limits/turns.ts';
import type { Hex16 } from '../model.ts';

/**
 * Limits of one outline. Its steps are read on the thread that takes requests, one per turn of the
 * event loop. A step of up to 48 KiB takes at most 50 ms, whatever it contains; a larger one is
 * cut.
 */
const OUTLINE_LIMITS = { stepsMax: 1_000, bytesMax: 1024 * 1024, stepBytesMax: 48 * 1024 };

/** Of this thread. */
const turns = new Turns();

/** A run with its first steps in order of time; null if the workspace has no such run. */
async function outlineRun(database: Database, workspaceId: number, runId: Hex16) {
  const found = await findRun(database, workspaceId, runId);
  if (found === null) return null;
  const ref = { workspaceId, runId, ...found };
  const { steps, cut, unread } = await readOutlinedSteps(database, ref, OUTLINE_LIMITS);
  const outlined = await turns.takeInPieces(
    workspaceId,
    outlineInPieces(steps, cut, found.redactedSteps),
  );
  return { run: found.run, steps: outlined, stepsLeftOut: unread };
}

export function findingReader(database: Database): ReadDependencies['findings'] {
  return {
    list: (...query) => listFindings(database, ...query),
    find: (workspaceId, id) => findFinding(database, workspaceId, id),
    place: (workspaceId, id) => findPlace(database, workspaceId, id),
    settledBefore: () => settledBefore(database),
    page: (...query) => listFindingFacts(database, ...query),
  };
}

export function runReader(database: Database): ReadDependencies['runs'] {
  return {
    list: (...query) => listRuns(database, ...query),
    find: async (workspaceId, runId) => {
      const found = await outlineRun(database, workspaceId, runId);
      return found && { ...found, steps: found.steps.map(({ outline }) => outline) };
    },
  };
}

/**
 * What the dashboard reads in addition to the API: a run's texts, and the counts of its first page.
 *
 * @param nowMs milliseconds since 1970, by PostgreSQL's clock
 */
export function dashboardReader(
  database: Database,
  nowMs: () => number,
): Pick<AppDependencies, 'findRun' | 'findSteps' | 'overview'> {
  return {
    findRun: async (workspaceId, runId) =>
      (await findRun(database, workspaceId, runId))?.run ?? null,
    findSteps: (workspaceId, runId) => outlineRun(database, workspaceId, runId),
    overview: createOverviewReader(database, nowMs),
  };
}
