/** The steps of one run, as the pass reads those of several. */
import type pg from 'pg';

import type { Database } from '../../src/db/database.ts';
import type { RunToRead, StepLimits } from '../../src/db/runs/run-to-read.ts';
import { readStepsOfRuns, type StepsOfRun } from '../../src/reads/steps-of-runs.ts';

export async function readSteps(
  database: Database,
  run: RunToRead,
  limits?: StepLimits,
): Promise<StepsOfRun> {
  const [only] = await readStepsOfRuns(database, [run], limits);
  return only ?? { steps: [], bytes: 0, unread: 0, repeats: 0 };
}

/** The plans of the statements that read the steps of a run; nothing is read. */
export async function plansOf(database: Database, run: RunToRead): Promise<string[]> {
  const plans: string[] = [];
  const explaining = {
    query: async (statement: string | pg.QueryConfig, given?: unknown[]) => {
      const { text, values = [] } =
        typeof statement === 'string' ? { text: statement, values: given } : statement;
      const { rows } = await database.query(`EXPLAIN ${text}`, values);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return { rows: [] };
    },
  };
  await readSteps(explaining as unknown as Database, run);
  return plans;
}
