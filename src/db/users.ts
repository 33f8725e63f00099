/** Users: people with an e-mail address, whatever its capitals, and the ways they sign in. */
import { SluiceError } from '../errors.ts';
import type { Queryable } from './database.ts';

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

/** An account at a provider. */
export interface Identity {
  /** the provider's name in the settings */
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
}

/** From here on this account at a provider signs in as this user. */
export async function addIdentity(
  database: Queryable,
  userId: number,
  { provider, issuer, subject }: Identity,
): Promise<void> {
  await database.query(
    `INSERT INTO identities (issuer, subject, provider, user_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (issuer, subject) DO NOTHING`,
    [issuer, subject, provider, userId],
  );
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
