/**
 * Accounts made through an invitation's link. A link shows who holds it, not whose address it names:
 * the admin who made it may have opened it. So such an account belongs to the workspace of the link
 * alone. It never joins another one, keeps nobody from the address elsewhere, and ends when a
 * provider shows whose address it is: the memberships go over to that person, the password does not.
 *
 *   link ─► account of one workspace ─► (provider shows the address) ─► account of the address
 */
import { lockLedger } from './audit.ts';
import type { Connection, Queryable } from './database.ts';
import { revokeSessions } from './sessions.ts';
import { type Account, findAccount, USER_COLUMNS, type User } from './users.ts';

/**
 * Makes the account of somebody who follows a workspace's link. One whose member was removed from
 * that workspace is used again: with this name and password, and without its sessions. The caller
 * holds `lockLedger` of the workspace.
 */
export async function createWorkspaceAccount(
  connection: Connection,
  workspaceId: number,
  { email, displayName, passwordHash }: Pick<Account, 'email' | 'displayName' | 'passwordHash'>,
): Promise<User> {
  const { rows: former } = await connection.query<User>(
    `UPDATE users u SET display_name = $3, password_hash = $4
      WHERE workspace_id = $1 AND lower(address) = lower($2)
        AND NOT EXISTS (SELECT FROM memberships WHERE user_id = u.id)
      RETURNING ${USER_COLUMNS}`,
    [workspaceId, email, displayName, passwordHash],
  );
  if (former[0] !== undefined) {
    await revokeSessions(connection, former[0].id, null);
    return former[0];
  }
  const { rows } = await connection.query<User>(
    `INSERT INTO users (workspace_id, invited_email, display_name, password_hash)
     VALUES ($1, $2, $3, $4) RETURNING ${USER_COLUMNS}`,
    [workspaceId, email, displayName, passwordHash],
  );
  const [user] = rows;
  if (user === undefined) throw new Error('an INSERT returned no row');
  return user;
}

/**
 * Makes the account of an address what it should have been, where a version before migration 10 let
 * an invitation's link make it and no provider has shown the address since: an account of the
 * workspace of that link. What it has joined besides, it keeps.
 */
export async function confineLinkMade(connection: Connection, email: string): Promise<void> {
  // An account made by an invitation is as old as the invitation's use: one transaction, one now().
  await connection.query(
    `UPDATE users u SET email = NULL, invited_email = u.email, workspace_id = i.workspace_id
       FROM invitations i
      WHERE lower(u.email) = lower($1) AND lower(i.email) = lower(u.email)
        AND i.accepted_at = u.created_at AND u.password_hash IS NOT NULL
        AND NOT EXISTS (SELECT FROM identities WHERE user_id = u.id)`,
    [email],
  );
}

/** Slugs of the workspaces that have an account of this address made through their own link. */
export async function listLinkWorkspaces(database: Queryable, email: string): Promise<string[]> {
  const { rows } = await database.query<{ slug: string }>(
    `SELECT DISTINCT w.slug FROM users u JOIN workspaces w ON w.id = u.workspace_id
      WHERE lower(u.address) = lower($1) ORDER BY w.slug`,
    [email],
  );
  return rows.map(({ slug }) => slug);
}

/** The accounts that links made of an address, oldest first, kept from others until the commit. */
export async function holdLinkMade(connection: Connection, email: string): Promise<User[]> {
  await confineLinkMade(connection, email);
  const { rows } = await connection.query<User>(
    `SELECT ${USER_COLUMNS} FROM users
      WHERE lower(address) = lower($1) AND email IS NULL ORDER BY id FOR UPDATE`,
    [email],
  );
  return rows;
}

/**
 * The account of an address that has just been shown to be somebody's: the one there is, or the
 * oldest that a link made.
 *
 * @param linkMade as `holdLinkMade` gave them
 * @returns null when there is none of either
 */
export async function accountOfAddress(
  connection: Connection,
  email: string,
  linkMade: readonly User[],
): Promise<User | null> {
  const account = await findAccount(connection, email);
  const [oldest] = linkMade;
  if (account !== null || oldest === undefined) return account;
  await connection.query(
    `UPDATE users SET email = invited_email, invited_email = NULL, workspace_id = NULL
      WHERE id = $1`,
    [oldest.id],
  );
  return { ...oldest, onlyWorkspaceId: null };
}

/**
 * Gives what links made of an address to the account of its owner: their memberships. Their passwords
 * are removed and their sessions end.
 */
export async function takeOverLinkMade(
  connection: Connection,
  owner: User,
  linkMade: readonly User[],
): Promise<void> {
  const ids = linkMade.map(({ id }) => id);
  const { rows } = await connection.query<{ id: number }>(
    `SELECT DISTINCT workspace_id AS id FROM memberships WHERE user_id = ANY ($1)
      ORDER BY workspace_id`,
    [ids],
  );
  // In one order, so that two who lock several ledgers do not wait for each other.
  for (const { id } of rows) await lockLedger(connection, id);
  await connection.query('UPDATE users SET password_hash = NULL WHERE id = ANY ($1)', [ids]);
  for (const id of ids) await revokeSessions(connection, id, null);
  await connection.query(
    `UPDATE memberships m SET user_id = $1
      WHERE user_id = ANY ($2) AND user_id <> $1
        AND NOT EXISTS (SELECT FROM memberships WHERE workspace_id = m.workspace_id
                           AND user_id = $1)`,
    [owner.id, ids],
  );
}
