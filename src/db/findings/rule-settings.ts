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
