/** Reads the workspaces' settings about rules: the experimental tier and single overrides. */
import { SluiceError } from '../../errors.ts';
import type { Actor } from '../../model/people.ts';
import type { RuleSettings } from '../../model/rules.ts';
import type { Connection, Database } from '../database.ts';
import { recordedByAdmin } from '../people/authority.ts';

interface SettingsRow {
  readonly id: number;
  readonly experimental: boolean;
  readonly redact: boolean;
  readonly overrides: Record<string, boolean>;
}

/** With whether the workspace redacts: then none of its excerpts may be stored. */
interface WorkspaceSettings extends RuleSettings {
  readonly redactExcerpts: boolean;
}

/** The settings of several workspaces, by workspace id; ids that do not exist are absent. */
export async function readWorkspaceSettings(
  database: Database,
  workspaceIds: readonly number[],
): Promise<Map<number, WorkspaceSettings>> {
  const { rows } = await database.query<SettingsRow>(
    `SELECT w.id, w.experimental, w.redact_excerpts AS redact,
            coalesce(json_object_agg(o.rule_id, o.enabled) FILTER (WHERE o.rule_id IS NOT NULL),
                     '{}') AS overrides
       FROM workspaces w LEFT JOIN rule_overrides o ON o.workspace_id = w.id
      WHERE w.id = ANY ($1::int[]) GROUP BY w.id`,
    [workspaceIds],
  );
  return new Map(
    rows.map(({ id, experimental, redact, overrides }) => [
      id,
      { experimental, redactExcerpts: redact, overrides: new Map(Object.entries(overrides)) },
    ]),
  );
}

/** The settings of one workspace; nothing is set in one that does not exist. */
export async function readRuleSettings(
  database: Database,
  workspaceId: number,
): Promise<RuleSettings> {
  const settings = (await readWorkspaceSettings(database, [workspaceId])).get(workspaceId);
  return settings ?? { experimental: false, overrides: new Map<string, boolean>() };
}

/** An override of a rule that is not among those that can run. */
export interface UnusableOverride {
  readonly workspace: string;
  readonly ruleId: string;
  readonly enabled: boolean;
}

/** Overrides of all workspaces whose rule cannot run, by workspace and rule. */
export async function listUnusableOverrides(
  database: Database,
  runnable: readonly string[],
  max: number,
): Promise<UnusableOverride[]> {
  const { rows } = await database.query<UnusableOverride>(
    `SELECT w.slug AS workspace, o.rule_id AS "ruleId", o.enabled
       FROM rule_overrides o JOIN workspaces w ON w.id = o.workspace_id
      WHERE NOT o.rule_id = ANY($1) ORDER BY w.slug, o.rule_id LIMIT $2`,
    [runnable, max],
  );
  return rows;
}

async function experimentalOf(connection: Connection, workspaceId: number): Promise<boolean> {
  const { rows } = await connection.query<{ experimental: boolean }>(
    'SELECT experimental FROM workspaces WHERE id = $1',
    [workspaceId],
  );
  return rows[0]?.experimental ?? false;
}

/** Switches the experimental tier; records nothing if it is switched so already. */
export async function setExperimental(
  database: Database,
  workspaceId: number,
  experimental: boolean,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const before = await experimentalOf(connection, workspaceId);
    if (before === experimental) return;
    await connection.query('UPDATE workspaces SET experimental = $2 WHERE id = $1', [
      workspaceId,
      experimental,
    ]);
    await record({
      action: 'rules.experimental',
      subject: 'experimental tier',
      before: { experimental: before },
      after: { experimental },
    });
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

/** Overrides one rule, or removes its override; records nothing if it is so already. */
export async function setOverride(
  database: Database,
  workspaceId: number,
  ruleId: string,
  enabled: boolean | null,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const before = await overrideOf(connection, workspaceId, ruleId);
    if (before === enabled) return;
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
    const [was, is] = [{ enabled: before }, { enabled }];
    await record({ action: 'rules.override', subject: ruleId, before: was, after: is });
  });
}

/** Switches the tier off and removes all overrides, on every plan: an earlier one may have allowed them. */
export async function resetRules(
  database: Database,
  workspaceId: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record, role) => {
    if (role !== 'owner') throw new SluiceError('role_required', 'This requires the role owner.');
    const experimental = await experimentalOf(connection, workspaceId);
    const { rows } = await connection.query<{ id: string; enabled: boolean }>(
      `DELETE FROM rule_overrides WHERE workspace_id = $1 RETURNING rule_id AS id, enabled`,
      [workspaceId],
    );
    if (!experimental && rows.length === 0) return;
    await connection.query('UPDATE workspaces SET experimental = false WHERE id = $1', [
      workspaceId,
    ]);
    const overrides = Object.fromEntries(
      rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ id, enabled }) => [id, enabled]),
    );
    await record({
      action: 'rules.reset',
      subject: 'rule settings',
      before: { experimental, overrides },
      after: { experimental: false, overrides: {} },
    });
  });
}
