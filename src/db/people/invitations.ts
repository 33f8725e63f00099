/**
 * Invitations as rows: a link for one e-mail address, valid once and for a week. Its token is stored
 * as a digest. Creating, revoking and accepting run inside `recorded` (audit.ts).
 */
import { randomBytes } from 'node:crypto';

import { SluiceError } from '../../errors.ts';
import type { Invitation, Role } from '../../model/people.ts';
import type { Connection, Queryable } from '../database.ts';
import { digestKey } from './keys.ts';

const TOKEN_BYTES = 32;
const LIFE_DAYS = 7;
const OPEN_MAX = 200;

const OPEN = 'i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()';
const SELECT = `
  SELECT i.id, i.workspace_id AS "workspaceId", i.email, i.role, i.created_at AS "createdAt",
         i.expires_at AS "expiresAt", u.address AS "invitedBy"
    FROM invitations i LEFT JOIN users u ON u.id = i.invited_by`;

const notOpen = () =>
  new SluiceError('not_found', 'This invitation is invalid, already used, revoked or expired.');

/** Stores an invitation, and revokes earlier open ones of the same address to the workspace. */
export async function insertInvitation(
  connection: Connection,
  workspaceId: number,
  { email, role, invitedBy }: { email: string; role: Role; invitedBy: number | null },
): Promise<{ invitation: Invitation; token: string }> {
  await connection.query(
    `UPDATE invitations i SET revoked_at = now()
      WHERE workspace_id = $1 AND lower(email) = lower($2) AND ${OPEN}`,
    [workspaceId, email],
  );
  const { rows: facts } = await connection.query<{ open: number; isMember: boolean }>(
    `SELECT (SELECT count(*)::int FROM invitations i WHERE workspace_id = $1 AND ${OPEN}) AS open,
            EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                     WHERE m.workspace_id = $1 AND lower(u.address) = lower($2)) AS "isMember"`,
    [workspaceId, email],
  );
  if (facts[0]?.isMember === true) {
    throw new SluiceError('conflict', 'A member with this e-mail address exists already.');
  }
  if ((facts[0]?.open ?? 0) >= OPEN_MAX) {
    throw new SluiceError(
      'conflict',
      `A workspace can have at most ${OPEN_MAX} open invitations. Revoke one first.`,
    );
  }
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { rows } = await connection.query<{ id: number }>(
    `INSERT INTO invitations (workspace_id, email, role, token_sha256, invited_by, expires_at)
     VALUES ($1, $2, $3, $4, $5, now() + interval '${LIFE_DAYS} days') RETURNING id`,
    [workspaceId, email, role, digestKey(token), invitedBy],
  );
  const invitation = await findInvitation(connection, workspaceId, rows[0]?.id ?? 0);
  return { invitation, token };
}

export async function listInvitations(
  database: Queryable,
  workspaceId: number,
): Promise<Invitation[]> {
  const { rows } = await database.query<Invitation>(
    `${SELECT} WHERE i.workspace_id = $1 AND ${OPEN} ORDER BY i.id`,
    [workspaceId],
  );
  return rows;
}

export async function findInvitation(
  database: Queryable,
  workspaceId: number,
  id: number,
): Promise<Invitation> {
  const { rows } = await database.query<Invitation>(
    `${SELECT} WHERE i.workspace_id = $1 AND i.id = $2 AND ${OPEN}`,
    [workspaceId, id],
  );
  const [invitation] = rows;
  if (invitation === undefined) throw notOpen();
  return invitation;
}

export async function findInvitationByToken(
  database: Queryable,
  token: string,
): Promise<Invitation> {
  const { rows } = await database.query<Invitation>(
    `${SELECT} WHERE i.token_sha256 = $1 AND ${OPEN}`,
    [digestKey(token)],
  );
  const [invitation] = rows;
  if (invitation === undefined) throw notOpen();
  return invitation;
}

/** The open invitations of an e-mail address that the caller has verified, oldest first. */
export async function findInvitationsByEmail(
  database: Queryable,
  email: string,
): Promise<Invitation[]> {
  const { rows } = await database.query<Invitation>(
    `${SELECT} WHERE lower(i.email) = lower($1) AND ${OPEN} ORDER BY i.id`,
    [email],
  );
  return rows;
}

/** Of concurrent calls one succeeds. @throws {SluiceError} `not_found` when it is no longer open */
export async function markAccepted(connection: Connection, id: number): Promise<void> {
  const { rowCount } = await connection.query(
    `UPDATE invitations i SET accepted_at = now() WHERE id = $1 AND ${OPEN}`,
    [id],
  );
  if (rowCount !== 1) throw notOpen();
}

export async function markRevoked(
  connection: Connection,
  workspaceId: number,
  id: number,
): Promise<void> {
  const { rowCount } = await connection.query(
    `UPDATE invitations i SET revoked_at = now() WHERE workspace_id = $1 AND id = $2 AND ${OPEN}`,
    [workspaceId, id],
  );
  if (rowCount !== 1) throw notOpen();
}
