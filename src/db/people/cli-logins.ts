/**
 * Command lines that people have signed in: sessions of the kind `cli`, each for one workspace. Their
 * beginning and end are recorded in that workspace's ledger.
 *
 * Locks are always taken in this order: the user's row, the ledgers by workspace. A changed password
 * locks in the same order and then ends all sessions, so none that begins meanwhile survives it.
 */
import { randomBytes } from 'node:crypto';

import type { Hex16 } from '../../model/json.ts';
import type { Actor, CliToken, Role, Session } from '../../model/people.ts';
import { type Connection, type Database, inTransaction, onlyRow } from '../database.ts';
import { appendAudit, lockLedger } from './audit.ts';
import { digestKey } from './keys.ts';
import { limitSessions, OPEN } from './sessions.ts';

const TOKEN_BYTES = 32;
/** A login ends after this time, used or not. */
const CLI_LIFE_DAYS = 30;

/** A user's decision that a command line may act for them in a workspace. */
export interface Approval {
  readonly deviceName: string;
  readonly address: string;
  readonly sessionId: Hex16;
  readonly userId: number;
  readonly workspaceId: number;
}

/** The user of an approval with the role it has now; null when it has lost session or membership. */
async function approverOf(
  connection: Connection,
  { sessionId, userId, workspaceId }: Approval,
): Promise<{ email: string; workspace: string; role: Role } | null> {
  await connection.query('SELECT FROM users WHERE id = $1 FOR SHARE', [userId]);
  const { rows } = await connection.query<{ email: string; workspace: string; role: Role }>(
    `SELECT u.address AS email, w.slug AS workspace, m.role
       FROM users u
       JOIN memberships m ON m.user_id = u.id AND m.workspace_id = $3
       JOIN workspaces w ON w.id = m.workspace_id
      WHERE u.id = $2
        AND EXISTS (SELECT FROM sessions WHERE id = $1 AND user_id = $2 AND ${OPEN})`,
    [sessionId, userId, workspaceId],
  );
  return rows[0] ?? null;
}

/** Creates the session of an approved command line, if its approver still may; else null. */
export async function createCliSession(
  connection: Connection,
  approval: Approval,
  brand: string,
): Promise<CliToken | null> {
  const approver = await approverOf(connection, approval);
  if (approver === null) return null;
  const { deviceName, address, userId, workspaceId } = approval;
  await lockLedger(connection, workspaceId);
  const secret = randomBytes(TOKEN_BYTES).toString('base64url').replaceAll(/[-_]/g, 'x');
  const token = `${brand}_cli_${secret}`;
  const created = onlyRow(
    await connection.query<{ expiresAt: Date }>(
      `INSERT INTO sessions (kind, token_sha256, user_id, workspace_id, user_agent, address, expires_at)
     VALUES ('cli', $1, $2, $3, $4, $5, now() + interval '${CLI_LIFE_DAYS} days')
     RETURNING expires_at AS "expiresAt"`,
      [digestKey(token), userId, workspaceId, deviceName, address],
    ),
  );
  await limitSessions(connection, userId, 'cli');
  const actor = { userId, name: approver.email, origin: address };
  await appendAudit(connection, workspaceId, actor, {
    action: 'cli.login',
    subject: deviceName,
    after: { role: approver.role, expires_at: created.expiresAt.toISOString() },
  });
  return { token, userId, expiresAt: created.expiresAt, ...approver };
}

interface EndingRow {
  readonly id: Hex16;
  readonly kind: Session['kind'];
  readonly workspaceId: number | null;
  readonly userAgent: string;
}

/** Which of a user's open sessions end: one, or all but one. */
type Ending = { readonly only: Hex16 } | { readonly except: Hex16 };

/** Ends open sessions of a user. The end of a command line's is recorded in its workspace. */
export async function endSessions(
  database: Database,
  userId: number,
  ending: Ending,
  actor: Actor,
  action: 'cli.revoked' | 'cli.logout' = 'cli.revoked',
): Promise<number> {
  return await inTransaction(database, async (connection) => {
    await connection.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
    const { rows } = await connection.query<EndingRow>(
      `SELECT id, kind, workspace_id AS "workspaceId", user_agent AS "userAgent" FROM sessions
        WHERE user_id = $1 AND ($2::uuid IS NULL OR id = $2) AND ($3::uuid IS NULL OR id <> $3)
          AND ${OPEN}
        ORDER BY workspace_id`,
      [userId, 'only' in ending ? ending.only : null, 'except' in ending ? ending.except : null],
    );
    for (const { kind, workspaceId, userAgent } of rows) {
      if (kind !== 'cli' || workspaceId === null) continue;
      await lockLedger(connection, workspaceId);
      await appendAudit(connection, workspaceId, actor, { action, subject: userAgent });
    }
    await connection.query('UPDATE sessions SET revoked_at = now() WHERE id = ANY ($1)', [
      rows.map(({ id }) => id),
    ]);
    return rows.length;
  });
}
