/** The steps of one run, as the pass reads those of several. */
import type { Database } from '../../src/db/database.ts';
import {
  type RunToRead,
  readStepsOfRuns,
  type StepLimits,
  type StepsOfRun,
} from '../../src/db/runs/steps.ts';

export async function readSteps(
  database: Database,
  run: RunToRead,
  limits?: StepLimits,
): Promise<StepsOfRun> {
  const [only] = await readStepsOfRuns(database, [run], limits);
  return only ?? { steps: [], bytes: 0, unread: 0 };
}
