/**
 * Outlines of runs: a run's first steps in order of time, with their surfaces. Computed on the thread
 * that takes requests, a few milliseconds at a time.
 */
import type { Database } from '../db/database.ts';
import { findRun } from '../db/runs/runs.ts';
import { readOutlinedSteps } from '../db/runs/steps.ts';
import { outlineInPieces } from '../engine/run-outline.ts';
import type { RunReader } from '../http/api/runs/run-routes.ts';
import type { RunPageDependencies } from '../http/dashboard/run-pages.ts';
import { Turns } from '../http/limits/turns.ts';

/**
 * Limits of one outline. A turn of the event loop outlines one step: up to 48 KiB take at most
 * 50 ms, whatever they contain; a larger step is cut.
 */
const LIMITS = { stepsMax: 1_000, bytesMax: 1024 * 1024, stepBytesMax: 48 * 1024 };

const turns = new Turns();

/** Reads a run and its first steps, `findSteps` with their texts; null if there is no such run. */
export function createOutliner(
  database: Database,
): Pick<RunPageDependencies, 'findSteps'> & Pick<RunReader, 'find'> {
  const findSteps: RunPageDependencies['findSteps'] = async (workspaceId, runId) => {
    const found = await findRun(database, workspaceId, runId);
    if (found === null) return null;
    const ref = { workspaceId, runId, ...found };
    const { steps, cut, unread } = await readOutlinedSteps(database, ref, LIMITS);
    const outlined = await turns.takeInPieces(
      workspaceId,
      outlineInPieces(steps, cut, found.redactedSteps),
      LIMITS.bytesMax,
    );
    return { run: found.run, steps: outlined, stepsLeftOut: unread };
  };
  return {
    findSteps,
    find: async (workspaceId, runId) => {
      const found = await findSteps(workspaceId, runId);
      return found && { ...found, steps: found.steps.map(({ outline }) => outline) };
    },
  };
}
