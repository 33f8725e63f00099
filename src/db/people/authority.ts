/**
 * Whether somebody still may do what they asked for, at the moment it is done. A request is checked
 * when its head arrives; until its body is there, or others let go of the ledger, its sender may have
 * lost the role or the session. What is checked here stays true until the change is committed: roles
 * change under the same lock (`lockLedger`, audit.ts).
 */
import { SluiceError } from '../../errors.ts';
import type { Actor, Role } from '../../model.ts';
import type { Connection, Database } from '../database.ts';
import { type Recorded, recorded } from './audit.ts';

/** @throws {SluiceError} `not_signed_in`, `role_required` */
async function roleOf(
  connection: Connection,
  workspaceId: number,
  { userId, sessionId }: Actor,
): Promise<Role> {
  // Whoever runs a command has the database in their hands.
  if (userId === null) return 'owner';
  const { rows } = await connection.query<{ role: Role | null; isOpen: boolean }>(
    `SELECT (SELECT role FROM memberships WHERE workspace_id = $1 AND user_id = $2) AS role,
            $3::uuid IS NULL OR EXISTS (
              SELECT FROM sessions WHERE id = $3 AND user_id = $2 AND revoked_at IS NULL
            ) AS "isOpen"`,
    [workspaceId, userId, sessionId ?? null],
  );
  const [found] = rows;
  if (found?.isOpen !== true) throw new SluiceError('not_signed_in', 'Sign in first.');
  if (found.role === 'owner' || found.role === 'admin') return found.role;
  throw new SluiceError('role_required', 'This takes one of the roles owner, admin.');
}

/**
 * Runs a change that takes an admin or an owner, and its ledger entry, in one transaction.
 *
 * @param work given the role of who acts
 * @throws {SluiceError} `not_signed_in` or `role_required` when the actor may no more; what `work`
 *   throws, after everything was rolled back
 */
export async function recordedByAdmin<Result>(
  database: Database,
  workspaceId: number,
  actor: Actor,
  work: (connection: Connection, role: Role) => Promise<Recorded<Result>>,
): Promise<Result> {
  return await recorded(database, workspaceId, actor, async (connection) =>
    work(connection, await roleOf(connection, workspaceId, actor)),
  );
}
