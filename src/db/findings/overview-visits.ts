/** What is new since a member last looked at the overview, remembered with the membership. */
import type { Database } from '../database.ts';

/** A look after a longer pause begins a new visit. */
const VISIT_PAUSE_MINUTES = 30;
/** Most new findings that are counted. */
export const NEW_FINDINGS_MAX = 1_000;

export interface NewFindings {
  /** the last look of the visit before */
  readonly since: Date;
  readonly findings: number;
  /** there are more than `findings` */
  readonly more: boolean;
}

const LOOK = `
  UPDATE memberships
     SET overview_new_since =
           CASE WHEN overview_seen_at < now() - interval '${VISIT_PAUSE_MINUTES} minutes'
                THEN overview_seen_at ELSE overview_new_since END,
         overview_seen_at = now()
   WHERE workspace_id = $1 AND user_id = $2
  RETURNING overview_new_since AS since`;

/** Index-only scan of `findings_by_time`. */
const COUNT = `
  SELECT count(*)::int AS findings
    FROM (SELECT FROM findings WHERE workspace_id = $1 AND created_at >= $2
           LIMIT ${NEW_FINDINGS_MAX + 1}) AS new`;

/** Records a look. @returns null on the first visit */
export async function noteOverviewVisit(
  database: Database,
  workspaceId: number,
  userId: number,
): Promise<NewFindings | null> {
  const looked = await database.query<{ since: Date | null }>(LOOK, [workspaceId, userId]);
  const since = looked.rows[0]?.since ?? null;
  if (since === null) return null;
  const { rows } = await database.query<{ findings: number }>(COUNT, [workspaceId, since]);
  const findings = rows[0]?.findings ?? 0;
  return {
    since,
    findings: Math.min(findings, NEW_FINDINGS_MAX),
    more: findings > NEW_FINDINGS_MAX,
  };
}
