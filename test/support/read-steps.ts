/** The steps of one run, as the pass reads those of several. */
import type { Database } from '../../src/db/database.ts';
import type { RunToRead, StepLimits } from '../../src/db/runs/run-to-read.ts';
import type { StepsOfRun } from '../../src/reads/run-reading.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';

/** A run without steps. */
export const NO_STEPS: StepsOfRun = {
  steps: [],
  bytes: 0,
  unread: 0,
  repeats: 0,
  unreadable: { blocks: 0, steps: 0 },
  hot: [],
};

export async function readSteps(
  database: Database,
  run: RunToRead,
  limits?: StepLimits,
): Promise<StepsOfRun> {
  const [only] = await readStepsOfRuns(database, [run], limits);
  return only ?? NO_STEPS;
}
