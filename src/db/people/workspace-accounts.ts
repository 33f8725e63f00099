/**
 * Accounts created through an invitation link. Using a link proves possession of the link, not
 * ownership of the e-mail address: the admin who created the link can use it too. So such an
 * account belongs to the link's workspace only. It cannot join another workspace and does not block
 * the address. When a provider verifies the address, the account's memberships move to the owner
 * and its password is removed.
 *
 *   link ─► account of one workspace ─► (provider verifies the address) ─► verified account
 */

import { type Connection, onlyRow, type Queryable } from '../database.ts';
import { lockLedger } from './audit.ts';
import { revokeSessions } from './sessions.ts';
import { type Account, findAccount, USER_COLUMNS, type User } from './users.ts';

/**
 * Creates the account of a person who uses a link. One without membership is used again, with this name and
 * password and without its sessions. The caller holds the ledger's lock, so that no other acceptance does the same.
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
  return onlyRow(
    await connection.query<User>(
      `INSERT INTO users (workspace_id, invited_email, display_name, password_hash)
     VALUES ($1, $2, $3, $4) RETURNING ${USER_COLUMNS}`,
      [workspaceId, email, displayName, passwordHash],
    ),
  );
}

/** Slugs of the workspaces whose links created an account for this address. */
export async function listLinkWorkspaces(database: Queryable, email: string): Promise<string[]> {
  const { rows } = await database.query<{ slug: string }>(
    `SELECT DISTINCT w.slug FROM users u JOIN workspaces w ON w.id = u.workspace_id
      WHERE lower(u.address) = lower($1) ORDER BY w.slug`,
    [email],
  );
  return rows.map(({ slug }) => slug);
}

/** The accounts that links created for an address, oldest first, locked until the commit. */
export async function lockLinkMade(connection: Connection, email: string): Promise<User[]> {
  const { rows } = await connection.query<User>(
    `SELECT ${USER_COLUMNS} FROM users
      WHERE lower(address) = lower($1) AND email IS NULL ORDER BY id FOR UPDATE`,
    [email],
  );
  return rows;
}

/** The account of a verified address: the verified one, or the oldest of a link, which becomes it. */
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

/** Moves the memberships of these accounts to their owner, and ends their passwords and sessions. */
export async function mergeLinkMade(
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
  // Always in the same order, to avoid deadlocks between transactions that lock several ledgers.
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
