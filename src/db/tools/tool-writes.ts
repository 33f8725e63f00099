/** Changes of the inventory: by people, by redaction and by retention. */
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import type { Database, Queryable } from '../database.ts';
import { BATCH_ROWS, type DeletionTurn } from '../retention/deletion.ts';

/** Marks the changes of tools as seen, up to the version that the person saw; returns how many. */
export async function acknowledgeTool(
  database: Database,
  workspaceId: number,
  toolId: Hex16,
  version: number,
  actor: Actor,
): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE tool_definitions SET acknowledged_at = now(), acknowledged_by = $4
      WHERE workspace_id = $1 AND tool_id = $2 AND version <= $3 AND is_change AND acknowledged_at IS NULL`,
    [workspaceId, toolId, version, actor.name],
  );
  return rowCount ?? 0;
}

/** Removes the texts of workspaces that redact; readers do not get them anyway. @param workspaceId null: all */
export async function removeToolTexts(
  database: Queryable,
  workspaceId: number | null,
): Promise<void> {
  await database.query(
    `UPDATE tool_definitions AS d SET server = NULL, name = NULL, description = NULL, schema = NULL
       FROM workspaces w WHERE w.id = d.workspace_id AND w.redact_excerpts AND d.name IS NOT NULL
        AND ($1::int IS NULL OR w.id = $1)`,
    [workspaceId],
  );
}

/** Deletes definitions, with their changes, and lists that no run has sent since. */
export async function deleteUnseenTools(turn: DeletionTurn, before: Date): Promise<number> {
  let deleted = 0;
  for (const table of ['tool_definitions', 'tool_lists']) {
    while (!turn.isOver) {
      const rows = await turn.batch(async (connection) => {
        const { rowCount } = await connection.query(
          `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM ${table} WHERE last_seen_at < $1 LIMIT ${BATCH_ROWS} FOR UPDATE SKIP LOCKED))`,
          [before],
        );
        return rowCount ?? 0;
      });
      if (table === 'tool_definitions') deleted += rows ?? 0;
      if (rows === null || rows < BATCH_ROWS) break;
    }
  }
  return deleted;
}
