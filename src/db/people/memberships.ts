/**
 * Members of workspaces and their roles, as rows. A workspace keeps at least one owner. Changes run
 * inside `recorded` (audit.ts), one at a time per workspace, so what is checked stays true.
 */
import { SluiceError } from '../../errors.ts';
import type { Member, Membership, Role } from '../../model/people.ts';
import type { Connection, Queryable } from '../database.ts';
import type { Change } from './audit.ts';

export const memberJoined = (email: string, role: Role): Change => ({
  action: 'member.joined',
  subject: email,
  after: { role },
});

const MEMBER = `
  SELECT u.id AS "userId", u.address AS email, u.display_name AS "displayName", m.role,
         m.created_at AS "createdAt",
         (SELECT max(s.last_seen_at) FROM sessions s
           WHERE s.user_id = u.id AND s.workspace_id = m.workspace_id) AS "lastSeenAt"
    FROM memberships m JOIN users u ON u.id = m.user_id`;

export async function listMembers(database: Queryable, workspaceId: number): Promise<Member[]> {
  const { rows } = await database.query<Member>(
    `${MEMBER} WHERE m.workspace_id = $1 ORDER BY m.created_at, u.id`,
    [workspaceId],
  );
  return rows;
}

export async function listMemberships(database: Queryable, userId: number): Promise<Membership[]> {
  const { rows } = await database.query<Membership>(
    `SELECT w.slug, w.name, m.role FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
      WHERE m.user_id = $1 ORDER BY m.created_at, w.id`,
    [userId],
  );
  return rows;
}

export async function findMember(
  database: Queryable,
  workspaceId: number,
  userId: number,
): Promise<Member> {
  const { rows } = await database.query<Member>(
    `${MEMBER} WHERE m.workspace_id = $1 AND m.user_id = $2`,
    [workspaceId, userId],
  );
  const [member] = rows;
  if (member === undefined) throw new SluiceError('not_found', 'The workspace has no such member.');
  return member;
}

/** Adds a user, but no account of another workspace's link, and no second account of an address. */
export async function addMember(
  database: Queryable,
  workspaceId: number,
  userId: number,
  role: Role,
): Promise<void> {
  const { rowCount } = await database.query(
    `INSERT INTO memberships (workspace_id, user_id, role)
     SELECT $1, u.id, $3 FROM users u
      WHERE u.id = $2 AND (u.workspace_id IS NULL OR u.workspace_id = $1)
        AND NOT EXISTS (SELECT FROM memberships m JOIN users other ON other.id = m.user_id
                         WHERE m.workspace_id = $1 AND lower(other.address) = lower(u.address))
     ON CONFLICT DO NOTHING`,
    [workspaceId, userId, role],
  );
  if (rowCount === 0) throw new SluiceError('conflict', 'This user is a member already.');
}

async function keepAnOwner(connection: Connection, workspaceId: number): Promise<void> {
  const { rows } = await connection.query<{ owners: number }>(
    `SELECT count(*)::int AS owners FROM memberships WHERE workspace_id = $1 AND role = 'owner'`,
    [workspaceId],
  );
  if (rows[0]?.owners === 0) {
    throw new SluiceError('conflict', 'A workspace must have at least one owner.');
  }
}

/** @throws {SluiceError} `conflict` when it is the last owner; the transaction must be rolled back */
export async function updateRole(
  connection: Connection,
  workspaceId: number,
  userId: number,
  role: Role,
): Promise<void> {
  await connection.query(
    'UPDATE memberships SET role = $3 WHERE workspace_id = $1 AND user_id = $2',
    [workspaceId, userId, role],
  );
  await keepAnOwner(connection, workspaceId);
}

export async function deleteMembership(
  connection: Connection,
  workspaceId: number,
  userId: number,
): Promise<void> {
  await connection.query('DELETE FROM memberships WHERE workspace_id = $1 AND user_id = $2', [
    workspaceId,
    userId,
  ]);
  await keepAnOwner(connection, workspaceId);
}
