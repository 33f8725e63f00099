/**
 * Reads the triage of findings: state, assignee and history; and gives statements that read
 * `findings f` the means to select, filter and hide by it.
 */
import type { Hex16 } from '../../model/json.ts';
import type {
  Assignee,
  FindingState,
  HistoryEntry,
  Triage,
  TriageMark,
} from '../../model/triage.ts';
import type { Queryable } from '../database.ts';

/** Most entries of a finding's history that are kept and shown; the audit log keeps them all. */
export const HISTORY_ENTRIES_MAX = 300;

/**
 * Joins the triage of a finding to a statement that reads `findings f`. Then `triaged.state` is null
 * for a new finding (`STATE` says `new`), and `triaged.assignee_id` is null for an unassigned one.
 */
export const TRIAGE_JOIN = `LEFT JOIN finding_states triaged
    ON triaged.workspace_id = f.workspace_id AND triaged.finding_id = f.id`;

/** The state of a finding of a statement with `TRIAGE_JOIN`, for example to select or compare. */
export const STATE = `coalesce(triaged.state, 'new')`;

/**
 * A condition for a statement that reads `findings f`, with or without `TRIAGE_JOIN`: whether the
 * finding has one of some states. The default view of lists is `OPEN_STATES`.
 *
 * @param states SQL of a text[], for example `$12::text[]`; where it is null, every finding matches
 */
export function hasState(states: string): string {
  return `(${states} IS NULL OR coalesce((
    SELECT own.state FROM finding_states own
     WHERE own.workspace_id = f.workspace_id AND own.finding_id = f.id), 'new') = ANY (${states}))`;
}

/**
 * A condition for a statement that reads `findings f`: whether the finding is assigned to a user.
 *
 * @param userId SQL of an integer, for example `$13::int`: 0 for nobody; where it is null, every
 *   finding matches
 */
export function hasAssignee(userId: string): string {
  return `(${userId} IS NULL OR coalesce((
    SELECT own.assignee_id FROM finding_states own
     WHERE own.workspace_id = f.workspace_id AND own.finding_id = f.id), 0) = ${userId})`;
}

interface TriageRow {
  readonly state: FindingState;
  readonly userId: number | null;
  readonly email: string | null;
  readonly displayName: string | null;
  readonly isMember: boolean;
}

function assigneeOf({ userId, email, displayName, isMember }: TriageRow): Assignee | null {
  if (userId === null) return null;
  return { userId, email: email ?? '', displayName: displayName ?? '', isMember };
}

/** The triage of a finding; of one without any, that of a new finding. */
export async function readTriage(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<Triage> {
  const { rows } = await database.query<TriageRow>(
    `SELECT own.state, own.assignee_id AS "userId", u.address AS email,
            u.display_name AS "displayName", m.user_id IS NOT NULL AS "isMember"
       FROM finding_states own
       LEFT JOIN users u ON u.id = own.assignee_id
       LEFT JOIN memberships m ON m.workspace_id = own.workspace_id AND m.user_id = u.id
      WHERE own.workspace_id = $1 AND own.finding_id = $2`,
    [workspaceId, findingId],
  );
  const { rows: history } = await database.query<HistoryEntry>(
    `SELECT id, at, actor, kind, before, after FROM finding_history
      WHERE workspace_id = $1 AND finding_id = $2 ORDER BY id DESC LIMIT ${HISTORY_ENTRIES_MAX}`,
    [workspaceId, findingId],
  );
  const [own] = rows;
  if (own === undefined) return { state: 'new', assignee: null, history };
  return { state: own.state, assignee: assigneeOf(own), history };
}

/** The state and the assignee of findings of a list; of new ones without an assignee nothing. */
export async function readTriageMarks(
  database: Queryable,
  workspaceId: number,
  findingIds: readonly Hex16[],
): Promise<ReadonlyMap<Hex16, TriageMark>> {
  if (findingIds.length === 0) return new Map();
  const { rows } = await database.query<TriageMark & { readonly id: Hex16 }>(
    `SELECT replace(own.finding_id::text, '-', '') AS id, own.state, u.address AS assignee
       FROM finding_states own LEFT JOIN users u ON u.id = own.assignee_id
      WHERE own.workspace_id = $1 AND own.finding_id = ANY ($2::uuid[])`,
    [workspaceId, findingIds],
  );
  return new Map(rows.map(({ id, ...mark }) => [id, mark]));
}
