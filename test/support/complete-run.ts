/** Stores one evaluated run, as the pass stores many. */

import type { Queryable } from '../../src/db/database.ts';
import { completeRuns, type EvaluatedRun } from '../../src/db/runs/complete-runs.ts';
import type { Severity } from '../../src/model/rules.ts';

/** @returns the severities of its findings; null when the run went to somebody else */
export async function completeRun(
  database: Queryable,
  evaluation: Omit<EvaluatedRun, 'ruleSetSha256'>,
  { ruleSetSha256, ...corpus }: { version: string; identity: string; ruleSetSha256: string },
): Promise<Severity[] | null> {
  const one = { ...evaluation, ruleSetSha256 };
  const [stored = null] = await completeRuns(database, [one], corpus);
  return stored;
}
