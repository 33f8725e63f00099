/**
 * Sessions of signed-in users: a random token in the browser or the command line, its digest here. Read
 * from the database for every request and never cached, so a revoked session is refused at once by every
 * process. How a command line gets one: cli-logins.ts.
 */
import { randomBytes } from 'node:crypto';

import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { ListedSession, Session, SessionKind } from '../../model/people.ts';
import type { Queryable } from '../database.ts';
import { digestKey } from './keys.ts';

const TOKEN_BYTES = 32;
/** A session ends after this time, used or not. */
const LIFE_HOURS = 7 * 24;
/** A session ends after this time without use. */
const IDLE_HOURS = 12;
/** The same for a command line, which people do not use every day. */
const CLI_IDLE_DAYS = 14;
/** The last use is written once in this time. */
const SEEN_SECONDS = 60;
/** Most open sessions of one user and kind; a further one revokes the oldest. */
const OPEN_MAX = 50;
const KEPT_DAYS = 30;

export const OPEN = `revoked_at IS NULL AND expires_at > now()
  AND last_seen_at > now() - CASE kind WHEN 'cli' THEN interval '${CLI_IDLE_DAYS} days'
                                       ELSE interval '${IDLE_HOURS} hours' END`;

export interface NewSession {
  readonly userId: number;
  /** the workspace it shows; null: the first one the user joined */
  readonly workspaceSlug: string | null;
  readonly userAgent: string;
  readonly address: string;
  /** the hash that the password was checked against; absent for other ways to sign in */
  readonly proof?: string;
}

/**
 * Locks the password that was checked until the transaction ends: a concurrent change of it waits,
 * and then revokes the session that is created here.
 */
async function lockPassword(connection: Queryable, userId: number, proof: string): Promise<void> {
  const { rowCount } = await connection.query(
    'SELECT FROM users WHERE id = $1 AND password_hash = $2 FOR SHARE',
    [userId, proof],
  );
  if (rowCount === 1) return;
  throw new SluiceError('sign_in_failed', 'The password was changed in the meantime. Try again.');
}

/** Creates a session, and revokes the oldest beyond `OPEN_MAX`; null without the named workspace. */
export async function createSession(
  database: Queryable,
  { userId, workspaceSlug, userAgent, address, proof }: NewSession,
): Promise<{ token: string; expiresAt: Date } | null> {
  if (proof !== undefined) await lockPassword(database, userId, proof);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const { rows } = await database.query<{ expiresAt: Date }>(
    `WITH place AS (
       SELECT m.workspace_id FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
        WHERE m.user_id = $2 AND ($3::text IS NULL OR w.slug = $3)
        ORDER BY m.created_at, m.workspace_id LIMIT 1
     )
     INSERT INTO sessions (kind, token_sha256, user_id, workspace_id, user_agent, address, expires_at)
     SELECT 'browser', $1, $2, (SELECT workspace_id FROM place), $4, $5,
            now() + interval '${LIFE_HOURS} hours'
      WHERE $3::text IS NULL OR EXISTS (SELECT FROM place)
     RETURNING expires_at AS "expiresAt"`,
    [digestKey(token), userId, workspaceSlug, userAgent, address],
  );
  const [created] = rows;
  if (created === undefined) return null;
  await limitSessions(database, userId, 'browser');
  return { token, expiresAt: created.expiresAt };
}

/** Deletes a user's sessions that ended long ago, and revokes the oldest beyond `OPEN_MAX`. */
export async function limitSessions(
  database: Queryable,
  userId: number,
  kind: SessionKind,
): Promise<void> {
  await database.query(
    `DELETE FROM sessions
      WHERE user_id = $1 AND expires_at < now() - interval '${KEPT_DAYS} days'`,
    [userId],
  );
  await database.query(
    `UPDATE sessions SET revoked_at = now()
      WHERE id IN (SELECT id FROM sessions WHERE user_id = $1 AND kind = $2 AND ${OPEN}
                    ORDER BY created_at DESC, id OFFSET ${OPEN_MAX})`,
    [userId, kind],
  );
}

interface SessionRow extends Session {
  readonly stale: boolean;
}

/** The open session of a browser's token, with its user's role in the shown workspace, or in the given one. */
export async function findSession(
  database: Queryable,
  token: string,
  workspaceId?: number,
): Promise<Session | null> {
  return await find(database, token, 'browser', workspaceId ?? null);
}

export async function findCliSession(database: Queryable, token: string): Promise<Session | null> {
  return await find(database, token, 'cli', null);
}

async function find(
  database: Queryable,
  token: string,
  kind: SessionKind,
  workspaceId: number | null,
): Promise<Session | null> {
  const { rows } = await database.query<SessionRow>({
    text: `SELECT s.id, s.kind, s.user_agent AS "userAgent", s.user_id AS "userId", u.address AS email, u.display_name AS "displayName",
                  s.expires_at AS "expiresAt",
                  s.last_seen_at < now() - interval '${SEEN_SECONDS} seconds' AS stale,
                  CASE WHEN m.role IS NOT NULL THEN json_build_object(
                    'id', w.id, 'slug', w.slug, 'name', w.name, 'plan', w.plan,
                    'redactExcerpts', w.redact_excerpts, 'role', m.role) END AS workspace
             FROM (SELECT * FROM sessions
                    WHERE token_sha256 = $1 AND kind = $3 AND ${OPEN}) s
             JOIN users u ON u.id = s.user_id
             LEFT JOIN memberships m
               ON m.workspace_id = coalesce($2::int, s.workspace_id) AND m.user_id = s.user_id
             LEFT JOIN workspaces w ON w.id = m.workspace_id`,
    values: [digestKey(token), workspaceId, kind],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const { stale, ...session } = row;
  if (stale)
    await database.query('UPDATE sessions SET last_seen_at = now() WHERE id = $1', [row.id]);
  return session;
}

export async function listSessions(database: Queryable, userId: number): Promise<ListedSession[]> {
  const { rows } = await database.query<ListedSession>(
    `SELECT s.id, s.kind, s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt",
            s.expires_at AS "expiresAt", s.user_agent AS "userAgent", s.address,
            w.slug AS workspace
       FROM (SELECT * FROM sessions WHERE user_id = $1 AND ${OPEN}) s
       LEFT JOIN workspaces w ON w.id = s.workspace_id
      ORDER BY s.last_seen_at DESC, s.id`,
    [userId],
  );
  return rows;
}

/** Switches a session to another workspace of its user; false when the user is not in it. */
export async function switchSession(
  database: Queryable,
  sessionId: Hex16,
  workspaceSlug: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE sessions s SET workspace_id = w.id
       FROM workspaces w JOIN memberships m ON m.workspace_id = w.id
      WHERE s.id = $1 AND w.slug = $2 AND m.user_id = s.user_id`,
    [sessionId, workspaceSlug],
  );
  return rowCount === 1;
}

/** Revokes the session of a token, and returns its user. */
export async function revokeToken(database: Queryable, token: string): Promise<number | null> {
  const { rows } = await database.query<{ userId: number }>(
    `UPDATE sessions SET revoked_at = now() WHERE token_sha256 = $1 AND revoked_at IS NULL
     RETURNING user_id AS "userId"`,
    [digestKey(token)],
  );
  return rows[0]?.userId ?? null;
}

/** Revokes a user's open sessions, but for `keepId`. */
export async function revokeSessions(
  database: Queryable,
  userId: number,
  keepId: Hex16 | null,
): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE sessions SET revoked_at = now()
      WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2) AND ${OPEN}`,
    [userId, keepId],
  );
  return rowCount ?? 0;
}
