/**
 * The two decisions a workspace makes about the rules, each with its ledger entry. Effective from
 * the next pass: it reads the settings anew with the runs it claims. Whether a rule may run at all
 * is the engine's to say, before this is called.
 */
import type { Actor } from '../../model.ts';
import type { Connection, Database } from '../database.ts';
import { recordedByAdmin } from '../people/authority.ts';

async function experimentalOf(connection: Connection, workspaceId: number): Promise<boolean> {
  const { rows } = await connection.query<{ experimental: boolean }>(
    'SELECT experimental FROM workspaces WHERE id = $1',
    [workspaceId],
  );
  return rows[0]?.experimental ?? false;
}

/** Switches the experimental tier. One that stands so already changes and records nothing. */
export async function setExperimental(
  database: Database,
  workspaceId: number,
  experimental: boolean,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection) => {
    const before = await experimentalOf(connection, workspaceId);
    if (before === experimental) return { result: undefined, change: null };
    await connection.query('UPDATE workspaces SET experimental = $2 WHERE id = $1', [
      workspaceId,
      experimental,
    ]);
    const change = {
      action: 'rules.experimental',
      subject: 'experimental tier',
      before: { experimental: before },
      after: { experimental },
    };
    return { result: undefined, change };
  });
}

async function overrideOf(
  connection: Connection,
  workspaceId: number,
  ruleId: string,
): Promise<boolean | null> {
  const { rows } = await connection.query<{ enabled: boolean }>(
    'SELECT enabled FROM rule_overrides WHERE workspace_id = $1 AND rule_id = $2',
    [workspaceId, ruleId],
  );
  return rows[0]?.enabled ?? null;
}

/**
 * Overrides one rule. One that stands so already changes and records nothing.
 *
 * @param enabled null drops the override
 */
export async function setOverride(
  database: Database,
  workspaceId: number,
  ruleId: string,
  enabled: boolean | null,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection) => {
    const before = await overrideOf(connection, workspaceId, ruleId);
    if (before === enabled) return { result: undefined, change: null };
    if (enabled === null) {
      await connection.query(
        'DELETE FROM rule_overrides WHERE workspace_id = $1 AND rule_id = $2',
        [workspaceId, ruleId],
      );
    } else {
      await connection.query(
        `INSERT INTO rule_overrides (workspace_id, rule_id, enabled) VALUES ($1, $2, $3)
         ON CONFLICT (workspace_id, rule_id)
         DO UPDATE SET enabled = excluded.enabled, updated_at = now()`,
        [workspaceId, ruleId, enabled],
      );
    }
    const change = {
      action: 'rules.override',
      subject: ruleId,
      before: { enabled: before },
      after: { enabled },
    };
    return { result: undefined, change };
  });
}
