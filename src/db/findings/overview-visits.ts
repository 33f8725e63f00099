/**
 * Counts a member's new and assigned findings for the overview. The membership row remembers the
 * member's last visit.
 */
import type { CountedFindings, OverviewVisit } from '../../model/overview.ts';
import { OPEN_STATES } from '../../model/triage.ts';
import { type Database, onlyRow } from '../database.ts';
import { isExcepted } from './exceptions.ts';
import { DECIDED_READ_MAX } from './finding-filter.ts';
import { hasState } from './triage.ts';

/** A look after a longer pause begins a new visit. */
const VISIT_PAUSE_MINUTES = 30;
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

/** Counts as many findings as their list reads. The last history entry is the current assignment. */
const ASSIGNED = `
  SELECT count(*)::int AS read, (count(*) FILTER (WHERE is_listed))::int AS findings,
         (count(*) FILTER (WHERE is_listed AND is_new))::int AS new
    FROM (SELECT NOT ${isExcepted('f')} AS is_listed,
                 (SELECT h.at >= $4::timestamptz AND h.actor_user_id IS DISTINCT FROM $2
                    FROM finding_history h
                   WHERE h.workspace_id = $1 AND h.finding_id = f.id AND h.kind = 'assignee'
                   ORDER BY h.id DESC LIMIT 1) AS is_new
            FROM (SELECT finding_id FROM finding_states
                   WHERE workspace_id = $1 AND assignee_id = $2 AND state = ANY ($3::text[])
                   ORDER BY updated_at DESC LIMIT ${DECIDED_READ_MAX}) AS own
            JOIN findings f ON f.workspace_id = $1 AND f.id = own.finding_id) AS assigned`;

async function newSince(
  database: Database,
  workspaceId: number,
  since: Date,
): Promise<CountedFindings> {
  const values = [workspaceId, since, OPEN_STATES];
  const { read, findings } = onlyRow(
    await database.query<{ read: number; findings: number }>(COUNT, values),
  );
  return {
    findings: Math.min(findings, NEW_FINDINGS_MAX),
    more: findings > NEW_FINDINGS_MAX || read === READ_FINDINGS_MAX,
  };
}

async function assignedTo(
  database: Database,
  workspaceId: number,
  userId: number,
  since: Date | null,
): Promise<OverviewVisit['assigned']> {
  const values = [workspaceId, userId, OPEN_STATES, since];
  const { read, ...counts } = onlyRow(
    await database.query<{ read: number; findings: number; new: number }>(ASSIGNED, values),
  );
  return { ...counts, more: read === DECIDED_READ_MAX };
}

/** Records a visit, and counts the member's new and assigned findings. */
export async function noteOverviewVisit(
  database: Database,
  workspaceId: number,
  userId: number,
): Promise<OverviewVisit> {
  const looked = await database.query<{ since: Date | null }>(LOOK, [workspaceId, userId]);
  const since = looked.rows[0]?.since ?? null;
  const [newFindings, assigned] = await Promise.all([
    since === null ? null : newSince(database, workspaceId, since),
    assignedTo(database, workspaceId, userId, since),
  ]);
  return { since, newFindings, assigned };
}
