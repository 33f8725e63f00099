/** What the pass and the previews need and leave in a database, without a pass. */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../../src/db/database.ts';
import { completeRuns, type EvaluatedRun } from '../../src/db/runs/complete-runs.ts';
import type { Severity } from '../../src/model/rules.ts';
import type { ClaimsDependencies } from '../../src/pool/claims.ts';

/** A heartbeat that needs no beat: for claims without a pass. */
export const heardProcess = (): ClaimsDependencies['heartbeat'] => ({
  processId: randomUUID(),
  isHeard: async () => {},
});

/**
 * Adds a lease to every run that was tried before, as a process leaves it that releases the run.
 *
 * @param until SQL: the runs may be claimed from then on
 */
export async function leaseTried(database: Queryable, until = "'-infinity'"): Promise<void> {
  await database.query(
    `INSERT INTO leases (workspace_id, run_id, lease_until, claimed_to, claimed_rows)
     SELECT workspace_id, run_id, ${until}, now(), spans + log_records FROM runs WHERE attempts > 0
         ON CONFLICT DO NOTHING`,
  );
}

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

/** Stores a preview that is done. @returns its id */
export async function insertPreview(database: Database, workspaceId: number): Promise<string> {
  const id = randomUUID().replaceAll('-', '');
  await database.query(
    `INSERT INTO rule_previews (workspace_id, id, kind, rule_ids, days, requested_by, state,
                                started_at, finished_at, corpus_version, corpus_identity,
                                runs_in_range, sample, runs_planned)
     VALUES ($1, $2, 'rule', '{ATR-2026-00001}', 7, 'a test', 'done',
             now(), now(), '4.0.0', decode(repeat('c0', 20), 'hex'), 0, 10000, 0)`,
    [workspaceId, id],
  );
  return id;
}
