/**
 * Reads the triage of findings: state, assignee and history; and gives statements that read
 * `findings f` the means to select, filter and hide by it.
 */
import type { Hex16 } from '../../model/json.ts';
import type { Assignee, FindingState, HistoryEntry, Triage } from '../../model/triage.ts';
import type { Queryable } from '../database.ts';

/** Most entries of a finding's history that are kept and shown; the audit log keeps them all. */
export const HISTORY_ENTRIES_MAX = 300;

const OWN = 'own.workspace_id = f.workspace_id AND own.finding_id = f.id';

export const STATE_COLUMN = `
  coalesce((SELECT own.state FROM finding_states own WHERE ${OWN}), 'new') AS state`;

/** `TriageMark` but for exceptions, as columns of a statement that reads `findings f`. */
export const TRIAGE_COLUMNS = `${STATE_COLUMN},
  (SELECT u.address FROM finding_states own JOIN users u ON u.id = own.assignee_id
    WHERE ${OWN}) AS assignee`;

/** A condition: the finding has one of some states, SQL of a text[]; null matches every finding. */
export function hasState(states: string): string {
  return `(${states} IS NULL OR coalesce((
    SELECT own.state FROM finding_states own WHERE ${OWN}), 'new') = ANY (${states}))`;
}

/** The users of an e-mail address, which is read once, not for every row. */
export const usersOf = (address: string): string =>
  `ARRAY(SELECT id FROM users WHERE lower(users.address) = lower(${address}))`;

/** A condition: the finding is assigned to an address, or to nobody (empty); null matches every finding. */
export function hasAssignee(address: string): string {
  const assigned = (condition: string): string =>
    `EXISTS (SELECT FROM finding_states own WHERE ${OWN} AND ${condition})`;
  return `(${address} IS NULL OR CASE ${address}
    WHEN '' THEN NOT ${assigned('own.assignee_id IS NOT NULL')}
    ELSE ${assigned(`own.assignee_id = ANY (${usersOf(address)})`)} END)`;
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
