/** What is new since a member last looked at the overview, remembered with the membership. */
import type { NewFindings } from '../../model/overview.ts';
import { OPEN_STATES } from '../../model/triage.ts';
import type { Database } from '../database.ts';
import { isExcepted } from './exceptions.ts';
import { hasState } from './triage.ts';

/** A look after a longer pause begins a new visit. */
const VISIT_PAUSE_MINUTES = 30;
/** Most new findings that are counted, and that are looked at for this. */
export const NEW_FINDINGS_MAX = 1_000;
const READ_FINDINGS_MAX = 5_000;

const LOOK = `
  UPDATE memberships
     SET overview_new_since =
           CASE WHEN overview_seen_at < now() - interval '${VISIT_PAUSE_MINUTES} minutes'
                THEN overview_seen_at ELSE overview_new_since END,
         overview_seen_at = now()
   WHERE workspace_id = $1 AND user_id = $2
  RETURNING overview_new_since AS since`;

/** Of the newest findings, how many the findings list shows: open ones that no exception covers. */
const COUNT = `
  SELECT count(*)::int AS read,
         count(*) FILTER (WHERE ${hasState('$3::text[]')} AND NOT ${isExcepted('f')})::int AS findings
    FROM (SELECT * FROM findings WHERE workspace_id = $1 AND created_at >= $2
           ORDER BY created_at DESC, id DESC LIMIT ${READ_FINDINGS_MAX}) AS f`;

/** Records a look. @returns null on the first visit */
export async function noteOverviewVisit(
  database: Database,
  workspaceId: number,
  userId: number,
): Promise<NewFindings | null> {
  const looked = await database.query<{ since: Date | null }>(LOOK, [workspaceId, userId]);
  const since = looked.rows[0]?.since ?? null;
  if (since === null) return null;
  const { rows } = await database.query<{ read: number; findings: number }>(COUNT, [
    workspaceId,
    since,
    OPEN_STATES,
  ]);
  const { read = 0, findings = 0 } = rows[0] ?? {};
  return {
    since,
    findings: Math.min(findings, NEW_FINDINGS_MAX),
    more: findings > NEW_FINDINGS_MAX || read === READ_FINDINGS_MAX,
  };
}
