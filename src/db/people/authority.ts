/**
 * Changes that take a member, or an admin or owner. A request's session and role are checked when its head
 * arrives; by the time its body is complete and the ledger is locked, either may have ended.
 * So both are checked again under the lock, under which roles change too, and stay true until the
 * commit.
 */
import { SluiceError } from '../../errors.ts';
import type { Actor, Role } from '../../model/people.ts';
import type { Connection, Database } from '../database.ts';
import { type Recorder, recorded } from './audit.ts';
import { OPEN } from './sessions.ts';

async function roleOf(
  connection: Connection,
  workspaceId: number,
  { userId, sessionId }: Actor,
): Promise<Role> {
  // Commands have the database's password.
  if (userId === null) return 'owner';
  const { rows } = await connection.query<{ role: Role | null; isOpen: boolean }>(
    `SELECT (SELECT role FROM memberships WHERE workspace_id = $1 AND user_id = $2) AS role,
            $3::uuid IS NULL OR EXISTS (
              SELECT FROM sessions WHERE id = $3 AND user_id = $2 AND ${OPEN}
            ) AS "isOpen"`,
    [workspaceId, userId, sessionId ?? null],
  );
  const [found] = rows;
  if (found?.isOpen !== true) throw new SluiceError('not_signed_in', 'Sign in first.');
  if (found.role !== null) return found.role;
  throw new SluiceError('role_required', 'This requires a member of the workspace.');
}

type Change<Result> = (connection: Connection, record: Recorder, role: Role) => Promise<Result>;

/** Runs a change by any member, and its ledger entries, in one transaction; `role` is the actor's by now. */
export async function recordedByMember<Result>(
  database: Database,
  workspaceId: number,
  actor: Actor,
  work: Change<Result>,
): Promise<Result> {
  return await recorded(database, workspaceId, actor, async (connection, record) =>
    work(connection, record, await roleOf(connection, workspaceId, actor)),
  );
}

/** As `recordedByMember`, by an admin or an owner. */
export async function recordedByAdmin<Result>(
  database: Database,
  workspaceId: number,
  actor: Actor,
  work: Change<Result>,
): Promise<Result> {
  return await recordedByMember(database, workspaceId, actor, async (connection, record, role) => {
    if (role === 'member') {
      throw new SluiceError('role_required', 'This requires the role owner or admin.');
    }
    return await work(connection, record, role);
  });
}
