/** Reads the workspaces' settings about rules: the experimental tier and single overrides. */
import type { RuleSettings } from '../../model/rules.ts';
import type { Database } from '../database.ts';

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

/**
 * The settings of several workspaces, by workspace id.
 *
 * @param workspaceIds ids that do not exist are absent from the answer
 */
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
  /** its slug */
  readonly workspace: string;
  readonly ruleId: string;
  readonly enabled: boolean;
}

/**
 * Overrides of all workspaces that have no effect, by workspace and rule.
 *
 * @param runnable ids of the rules that can run
 * @param max most that are returned
 */
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
