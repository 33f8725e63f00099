/** Users: people with an e-mail address, whatever its capitals, and the ways they sign in. */

import { SluiceError } from '../errors.ts';
import type { Identity } from '../model.ts';
import type { Connection, Queryable } from './database.ts';

export interface User {
  readonly id: number;
  readonly email: string;
  readonly displayName: string;
  readonly createdAt: Date;
}

export interface Account extends User {
  /** null: signs in through a provider only */
  readonly passwordHash: string | null;
}

/** Somebody whose password fits. */
export interface Proven extends User {
  /** the hash it was checked against: nothing is done on its word once another is stored */
  readonly proof: string;
}

/** A user with the workspaces it belongs to, as `slug (role)`. */
export interface ListedUser extends User {
  readonly memberships: readonly string[];
  readonly lastSeenAt: Date | null;
}

const COLUMNS = 'id, email, display_name AS "displayName", created_at AS "createdAt"';

/**
 * Makes a user without any workspace.
 *
 * @throws {SluiceError} `conflict` when the e-mail address has an account
 */
export async function createUser(
  database: Queryable,
  { email, displayName, passwordHash }: Pick<Account, 'email' | 'displayName' | 'passwordHash'>,
): Promise<User> {
  const { rows } = await database.query<User>(
    `INSERT INTO users (email, display_name, password_hash) VALUES ($1, $2, $3)
     ON CONFLICT (lower(email)) DO NOTHING RETURNING ${COLUMNS}`,
    [email, displayName, passwordHash],
  );
  const [user] = rows;
  if (user === undefined) throw new SluiceError('conflict', `There is an account of ${email}.`);
  return user;
}

/** The account of an e-mail address; null when there is none. */
export async function findAccount(database: Queryable, email: string): Promise<Account | null> {
  const { rows } = await database.query<Account>(
    `SELECT ${COLUMNS}, password_hash AS "passwordHash" FROM users WHERE lower(email) = lower($1)`,
    [email],
  );
  return rows[0] ?? null;
}

/**
 * Gives a user another password in place of one that is known to have been there: of two who change
 * it at once, one does.
 *
 * @param former the hash that is replaced
 * @returns false when it is not there any more; nothing changes
 */
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

/** Gives a user another password. Its sessions are another matter (`revokeSessions`). */
export async function setPassword(
  database: Queryable,
  userId: number,
  passwordHash: string,
): Promise<void> {
  await database.query('UPDATE users SET password_hash = $2 WHERE id = $1', [userId, passwordHash]);
}

/** The user who owns an account at a provider; null when nobody here does. */
export async function findIdentity(
  database: Queryable,
  issuer: string,
  subject: string,
): Promise<User | null> {
  const { rows } = await database.query<User>(
    `SELECT ${COLUMNS} FROM users
      WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)`,
    [issuer, subject],
  );
  return rows[0] ?? null;
}

/**
 * From here on this account at a provider signs in as this user.
 *
 * @returns false when somebody has it already; nothing changes
 */
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

/** What has to be known before an account is linked. */
export interface LinkFacts {
  /** it is linked to another account at this issuer */
  readonly isTaken: boolean;
  /** it has a password of somebody who followed a link, and nothing yet has shown whose address it is */
  readonly isUnproven: boolean;
}

/** Looks, and keeps others from linking the same user until the transaction ends. */
export async function holdForLinking(
  connection: Connection,
  userId: number,
  issuer: string,
): Promise<LinkFacts> {
  await connection.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  // An account made by an invitation is as old as the invitation's use: one transaction, one now().
  const { rows } = await connection.query<LinkFacts>(
    `SELECT EXISTS (SELECT FROM identities WHERE user_id = u.id AND issuer = $2) AS "isTaken",
            u.password_hash IS NOT NULL
              AND NOT EXISTS (SELECT FROM identities WHERE user_id = u.id)
              AND EXISTS (SELECT FROM invitations i WHERE lower(i.email) = lower(u.email)
                             AND i.accepted_at = u.created_at) AS "isUnproven"
       FROM users u WHERE u.id = $1`,
    [userId, issuer],
  );
  return rows[0] ?? { isTaken: true, isUnproven: false };
}

/** Leaves a user without a password: only providers sign it in. */
export async function removePassword(database: Queryable, userId: number): Promise<void> {
  await database.query('UPDATE users SET password_hash = NULL WHERE id = $1', [userId]);
}

/** All users, or those of one workspace, oldest first. */
export async function listUsers(
  database: Queryable,
  workspaceId: number | null,
): Promise<ListedUser[]> {
  const { rows } = await database.query<ListedUser>(
    `SELECT u.id, u.email, u.display_name AS "displayName", u.created_at AS "createdAt",
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
