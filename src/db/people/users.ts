/**
 * Users: people with an e-mail address (case-insensitive), and the ways they sign in. The account
 * of an address is the verified one, created by an operator or linked to a provider; accounts
 * created through an invitation link are separate (workspace-accounts.ts).
 */

import { SluiceError } from '../../errors.ts';
import type { Identity } from '../../model/people.ts';
import type { Connection, Queryable } from '../database.ts';
import { hashPassword, saltBeside } from './passwords.ts';

export interface User {
  readonly id: number;
  readonly email: string;
  readonly displayName: string;
  readonly createdAt: Date;
  /** the only workspace it may join, whose link created it; null for other accounts */
  readonly onlyWorkspaceId: number | null;
}

export interface Account extends User {
  /** null for accounts that sign in through a provider only */
  readonly passwordHash: string | null;
}

export interface ProvenUser extends User {
  /** the hash it was checked against; the check is void once another is stored */
  readonly proof: string;
}

export interface ListedUser extends User {
  readonly memberships: readonly string[];
  readonly onlyWorkspace: string | null;
  readonly lastSeenAt: Date | null;
}

export const USER_COLUMNS = `id, address AS email, display_name AS "displayName",
  created_at AS "createdAt", workspace_id AS "onlyWorkspaceId"`;

/** Creates a user without any workspace. @throws {SluiceError} `conflict` when the address has an account */
export async function createUser(
  database: Queryable,
  { email, displayName, passwordHash }: Pick<Account, 'email' | 'displayName' | 'passwordHash'>,
): Promise<User> {
  const { rows } = await database.query<User>(
    `INSERT INTO users (email, display_name, password_hash) VALUES ($1, $2, $3)
     ON CONFLICT (lower(email)) DO NOTHING RETURNING ${USER_COLUMNS}`,
    [email, displayName, passwordHash],
  );
  const [user] = rows;
  if (user === undefined)
    throw new SluiceError(
      'conflict',
      `An account with the e-mail address ${email} exists already.`,
    );
  return user;
}

export async function findUser(database: Queryable, id: number): Promise<User | null> {
  const { rows } = await database.query<User>(`SELECT ${USER_COLUMNS} FROM users WHERE id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** The verified account of an e-mail address, never one that was created through an invitation link. */
export async function findAccount(database: Queryable, email: string): Promise<Account | null> {
  const { rows } = await database.query<Account>(
    `SELECT ${USER_COLUMNS}, password_hash AS "passwordHash" FROM users WHERE lower(email) = lower($1)`,
    [email],
  );
  return rows[0] ?? null;
}

/** An account of an e-mail address: the verified one, else the oldest. */
export async function findAccountId(database: Queryable, email: string): Promise<number | null> {
  const { rows } = await database.query<{ id: number }>(
    `SELECT id FROM users WHERE lower(address) = lower($1) ORDER BY email IS NULL, id LIMIT 1`,
    [email],
  );
  return rows[0]?.id ?? null;
}

/** Hashes a further password of an address, with the salt that its accounts share. */
export async function hashPasswordOf(
  database: Queryable,
  email: string,
  password: string,
): Promise<string> {
  const { rows } = await database.query<{ passwordHash: string }>(
    `SELECT password_hash AS "passwordHash" FROM users
      WHERE lower(address) = lower($1) AND password_hash IS NOT NULL ORDER BY id LIMIT 1`,
    [email],
  );
  return await hashPassword(password, saltBeside(rows[0]?.passwordHash ?? null));
}

/** Replaces a user's password if it is still the given one: of concurrent calls one succeeds. */
export async function replacePassword(
  database: Queryable,
  userId: number,
  former: string,
  passwordHash: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2',
    [userId, former, passwordHash],
  );
  return rowCount === 1;
}

/** Sets a user's password; its sessions stay open (`revokeSessions`). */
export async function setPassword(
  database: Queryable,
  userId: number,
  passwordHash: string,
): Promise<void> {
  await database.query('UPDATE users SET password_hash = $2 WHERE id = $1', [userId, passwordHash]);
}

export async function findIdentity(
  database: Queryable,
  issuer: string,
  subject: string,
): Promise<User | null> {
  const { rows } = await database.query<User>(
    `SELECT ${USER_COLUMNS} FROM users
      WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)`,
    [issuer, subject],
  );
  return rows[0] ?? null;
}

/** Links an account at a provider to a user; false when it is linked already. */
export async function addIdentity(
  database: Queryable,
  userId: number,
  { provider, issuer, subject }: Identity,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `INSERT INTO identities (issuer, subject, provider, user_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (issuer, subject) DO NOTHING`,
    [issuer, subject, provider, userId],
  );
  return rowCount === 1;
}

/** Checks whether an account is linked to an identity of an issuer, and locks it against further links. */
export async function lockForLinking(
  connection: Connection,
  userId: number,
  issuer: string,
): Promise<boolean> {
  await connection.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  const { rowCount } = await connection.query(
    'SELECT FROM identities WHERE user_id = $1 AND issuer = $2 LIMIT 1',
    [userId, issuer],
  );
  return rowCount !== 0;
}

/** All users, or the members of one workspace, oldest first. */
export async function listUsers(
  database: Queryable,
  workspaceId: number | null,
): Promise<ListedUser[]> {
  const { rows } = await database.query<ListedUser>(
    `SELECT ${USER_COLUMNS},
            (SELECT slug FROM workspaces w WHERE w.id = u.workspace_id) AS "onlyWorkspace",
            (SELECT max(last_seen_at) FROM sessions s WHERE s.user_id = u.id) AS "lastSeenAt",
            (SELECT coalesce(json_agg(w.slug || ' (' || m.role || ')' ORDER BY w.slug), '[]')
               FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
              WHERE m.user_id = u.id) AS memberships
       FROM users u
      WHERE $1::int IS NULL OR EXISTS (
              SELECT FROM memberships m WHERE m.user_id = u.id AND m.workspace_id = $1)
      ORDER BY u.id`,
    [workspaceId],
  );
  return rows;
}
