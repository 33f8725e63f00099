/** The settings by which a workspace redacts telemetry before it is stored; changes have ledger entries. */
import { SluiceError } from '../../errors.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import { type RedactionSettings, redactionOf } from '../../model/redaction/redaction.ts';
import type { Database, Queryable } from '../database.ts';
import { recordedByAdmin } from './authority.ts';
import { KEY_CHANGED_CHANNEL } from './key-changes.ts';

const READ = 'SELECT redaction::text AS settings FROM workspaces WHERE id = $1';

export async function readStoredRedaction(
  database: Queryable,
  workspaceId: number,
): Promise<RedactionSettings | null> {
  const { rows } = await database.query<{ settings: string | null }>(READ, [workspaceId]);
  const settings = rows[0]?.settings ?? null;
  return settings === null ? null : redactionOf(settings);
}

/** Changes what is redacted, or ends it. The servers look the workspace's keys up again. */
export async function setStoredRedaction(
  database: Database,
  workspaceId: number,
  settings: RedactionSettings | null,
  actor: Actor,
): Promise<void> {
  const next = settings === null ? null : JSON.stringify(settings);
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<{ before: JsonObject | null; isSame: boolean }>(
      `SELECT redaction AS before, redaction IS NOT DISTINCT FROM $2::jsonb AS "isSame"
         FROM workspaces WHERE id = $1`,
      [workspaceId, next],
    );
    const [row] = rows;
    if (row === undefined) throw new SluiceError('not_found', 'There is no such workspace.');
    if (row.isSame) return;
    await connection.query(
      `WITH changed AS (
         UPDATE workspaces SET redaction = $2 WHERE id = $1 RETURNING id
       )
       SELECT pg_notify($3, k.id::text) FROM changed JOIN api_keys k ON k.workspace_id = changed.id
        WHERE k.revoked_at IS NULL`,
      [workspaceId, next, KEY_CHANGED_CHANNEL],
    );
    await record({
      action: 'workspace.redaction',
      subject: 'workspace',
      before: { redaction: row.before },
      after: { redaction: next === null ? null : (JSON.parse(next) as JsonObject) },
    });
  });
}
