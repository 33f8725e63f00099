/**
 * E-mails to members whose assignments somebody else changes, queued in the transaction of the change
 * (`triageFindings`). Processes with a mail server take turns in sending them. All times are PostgreSQL's.
 *
 *   queued ─► later changes join (JOIN_SECONDS) ─► claimed (an attempt counted) ─► sent ─► deleted
 *                                                      ▲                      └► due later, or given up
 *                                                      └── due again, whatever happened to its process
 *
 * The contents are read when the e-mail is sent: findings that have been reassigned since, and receivers who have
 * left the workspace, are left out.
 */
import type { DeliveryOutcome, SendResult } from '../../model/alerts.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import { SEVERITIES, type Severity } from '../../model/rules.ts';
import type { Connection, Database } from '../database.ts';
import { AGE_HOURS_MAX, ATTEMPTS_MAX, backoff, LEASE_SECONDS } from './outbox.ts';

/** Changes by one person within this time after the first one are one e-mail for each receiver. */
export const JOIN_SECONDS = 10;
/** Findings of one e-mail; the others are only in the list that it links to. */
export const MAIL_FINDINGS_MAX = 1000;
/** E-mails that wait, of one workspace and in all; beyond, changes are made without an e-mail. */
export const WORKSPACE_MAILS_MAX = 1000;
export const MAILS_MAX = 10_000;

export type AssignmentMailKind = 'assigned' | 'unassigned';

/** A queued e-mail that this process may send, once. */
export interface ClaimedMail {
  readonly workspaceId: number;
  readonly id: Hex16;
  readonly kind: AssignmentMailKind;
  readonly userId: number;
  readonly actorId: number;
  readonly attempt: number;
  readonly findingIds: readonly Hex16[];
}

export interface AssignmentNotice {
  readonly kind: AssignmentMailKind;
  readonly to: string;
  readonly workspace: string;
  readonly actorName: string;
  readonly actorEmail: string;
  /** the severest and newest first, at least one */
  readonly findings: readonly AssignedFinding[];
  /** the e-mail has as many findings as it can: there may be more */
  readonly isFull: boolean;
}

export interface AssignedFinding {
  readonly id: Hex16;
  readonly severity: Severity;
  readonly ruleId: string;
}

interface Reassigned {
  readonly id: Hex16;
  /** before the change */
  readonly assigneeId: number | null;
}

const QUEUE = `
  INSERT INTO assignment_mails (workspace_id, actor_id, due_at, user_id, kind, finding_ids)
  SELECT $1, $2, now() + interval '${JOIN_SECONDS} seconds', user_id, kind, array_agg(finding_id)
    FROM unnest($3::int[], $4::text[], $5::uuid[]) AS given (user_id, kind, finding_id)
   GROUP BY user_id, kind ORDER BY kind, user_id
   LIMIT greatest(0, least(
     ${MAILS_MAX} - (SELECT count(*) FROM assignment_mails),
     ${WORKSPACE_MAILS_MAX} - (SELECT count(*) FROM assignment_mails WHERE workspace_id = $1)))
  ON CONFLICT (workspace_id, user_id, actor_id, kind) WHERE attempts = 0 DO UPDATE
    SET finding_ids = ARRAY (
      SELECT DISTINCT id FROM unnest(assignment_mails.finding_ids || excluded.finding_ids) AS id
       LIMIT ${MAIL_FINDINGS_MAX})`;

/** Queues an e-mail for the new assignee and one for each former one, but none for the actor. */
export async function queueAssignmentMails(
  connection: Connection,
  workspaceId: number,
  changed: readonly Reassigned[],
  assigneeId: number | null,
  actor: Actor,
): Promise<void> {
  const given = changed.flatMap(({ id, assigneeId: before }) => [
    { userId: assigneeId, kind: 'assigned', id },
    { userId: before, kind: 'unassigned', id },
  ]);
  const others = given.filter(({ userId }) => userId !== null && userId !== actor.userId);
  if (others.length === 0 || actor.userId === null) return;
  await connection.query(QUEUE, [
    workspaceId,
    actor.userId,
    others.map(({ userId }) => userId),
    others.map(({ kind }) => kind),
    others.map(({ id }) => id),
  ]);
}

/** Workspaces take turns, and of one workspace those go first that are due longest. */
const CLAIM = `
  WITH due AS (
    SELECT id, due_at, row_number() OVER (PARTITION BY workspace_id ORDER BY due_at, id) AS turn
      FROM assignment_mails WHERE due_at <= now()
  ),
  chosen AS (SELECT id FROM due ORDER BY turn, due_at, id LIMIT $1),
  own AS (
    SELECT m.id FROM assignment_mails m JOIN chosen ON chosen.id = m.id
     WHERE m.due_at <= now() FOR UPDATE OF m SKIP LOCKED
  )
  UPDATE assignment_mails m
     SET attempts = m.attempts + 1,
         due_at = now() + greatest(interval '${LEASE_SECONDS} seconds', ${backoff('(m.attempts + 1)')})
    FROM own WHERE m.id = own.id
  RETURNING m.workspace_id AS "workspaceId", m.id, m.kind, m.user_id AS "userId",
            m.actor_id AS "actorId", m.attempts AS attempt, m.finding_ids AS "findingIds"`;

/** Claims e-mails that are due, each for one attempt, which must end within `LEASE_SECONDS`. */
export async function claimAssignmentMails(
  database: Database,
  max: number,
): Promise<ClaimedMail[]> {
  return (await database.query<ClaimedMail>(CLAIM, [max])).rows;
}

const PEOPLE = `
  SELECT u.address AS "to", w.name AS workspace, a.display_name AS "actorName",
         a.address AS "actorEmail"
    FROM memberships m JOIN users u ON u.id = m.user_id JOIN workspaces w ON w.id = m.workspace_id
    JOIN users a ON a.id = $3
   WHERE m.workspace_id = $1 AND m.user_id = $2`;
const FINDINGS = `
  SELECT f.id, f.severity, f.rule_id AS "ruleId"
    FROM findings f
    LEFT JOIN finding_states s ON s.workspace_id = f.workspace_id AND s.finding_id = f.id
   WHERE f.workspace_id = $1 AND f.id = ANY ($2::uuid[])
     AND (s.assignee_id IS NOT DISTINCT FROM $3) = ($4 = 'assigned')
   ORDER BY array_position($5::text[], f.severity), f.created_at DESC, f.id`;

/** Reads what an e-mail says by now; null when its receiver has left, or nothing of it is still true. */
export async function readAssignmentNotice(
  database: Database,
  { workspaceId, kind, userId, actorId, findingIds }: ClaimedMail,
): Promise<AssignmentNotice | null> {
  const { rows } = await database.query<
    Pick<AssignmentNotice, 'to' | 'workspace' | 'actorName' | 'actorEmail'>
  >(PEOPLE, [workspaceId, userId, actorId]);
  const [people] = rows;
  if (people === undefined) return null;
  const values = [workspaceId, findingIds, userId, kind, SEVERITIES];
  const { rows: findings } = await database.query<AssignedFinding>(FINDINGS, values);
  if (findings.length === 0) return null;
  return { kind, ...people, findings, isFull: findingIds.length === MAIL_FINDINGS_MAX };
}

export async function removeAssignmentMail(
  database: Database,
  { workspaceId, id }: ClaimedMail,
): Promise<void> {
  const values = [workspaceId, id];
  await database.query('DELETE FROM assignment_mails WHERE workspace_id = $1 AND id = $2', values);
}

const IS_OLD = `queued_at < now() - interval '${AGE_HOURS_MAX} hours'`;

/** Stores how an attempt ended: the e-mail is deleted, or due later. */
export async function endMailAttempt(
  database: Database,
  mail: ClaimedMail,
  { failure }: SendResult,
): Promise<DeliveryOutcome> {
  if (failure === null) {
    await removeAssignmentMail(database, mail);
    return 'delivered';
  }
  const { rowCount } = await database.query(
    `DELETE FROM assignment_mails WHERE workspace_id = $1 AND id = $2
        AND (attempts >= ${ATTEMPTS_MAX} OR ${IS_OLD})`,
    [mail.workspaceId, mail.id],
  );
  return rowCount === 0 ? 'failed' : 'dead';
}

/** Deletes e-mails that wait for too long, as those of servers that have no mail server any more. */
export async function tidyAssignmentMails(database: Database): Promise<void> {
  await database.query(
    `DELETE FROM assignment_mails WHERE id IN (
       SELECT id FROM assignment_mails WHERE ${IS_OLD} FOR UPDATE SKIP LOCKED)`,
  );
}
