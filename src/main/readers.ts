/** What the read API reads, over the database: findings, and runs with an outline of their steps. */
import type { Database } from '../db/database.ts';
import {
  findFinding,
  findPlace,
  listFindingFacts,
  listFindings,
  settledBefore,
} from '../db/findings-read.ts';
import { createOverviewReader } from '../db/overview.ts';
import { findRun, listRuns } from '../db/runs-read.ts';
import { readSteps } from '../db/steps.ts';
import { outlineOf, stepsWithTexts } from '../engine/run-outline.ts';
import type { DashboardPageDependencies } from '../http/dashboard-routes.ts';
import type { ReadDependencies } from '../http/read-routes.ts';

/**
 * What one answer outlines: its steps are read on the thread that takes requests, and must not hold
 * up the others.
 */
const OUTLINE_LIMITS = { stepsMax: 1_000, bytesMax: 1024 * 1024 };

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
      const found = await findRun(database, workspaceId, runId);
      if (found === null) return null;
      const ref = { workspaceId, runId, ...found };
      const { steps, unread } = await readSteps(database, ref, OUTLINE_LIMITS);
      return { run: found.run, steps: outlineOf(steps), stepsLeftOut: unread };
    },
  };
}

/** What the dashboard reads beside the API: a run's texts, and the counts of its first page. */
export function dashboardReader(
  database: Database,
): Pick<DashboardPageDependencies, 'findRun' | 'findSteps' | 'overview'> {
  return {
    findRun: async (workspaceId, runId) =>
      (await findRun(database, workspaceId, runId))?.run ?? null,
    findSteps: async (workspaceId, runId) => {
      const found = await findRun(database, workspaceId, runId);
      if (found === null) return null;
      const ref = { workspaceId, runId, ...found };
      const { steps, unread } = await readSteps(database, ref, OUTLINE_LIMITS);
      return { run: found.run, steps: stepsWithTexts(steps), stepsLeftOut: unread };
    },
    overview: createOverviewReader(database),
  };
}
