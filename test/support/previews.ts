/** A preview of a workspace, as the queue leaves it. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/db/database.ts';

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
