/** Changes of a person's account, by an operator or its owner, each with its ledger entries. */
import { OperatorError, SluiceError } from '../../errors.ts';
import type { Actor, Role } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, type Change, lockLedger } from './audit.ts';
import { addMember, memberJoined } from './memberships.ts';
import { revokeSessions } from './sessions.ts';
import {
  createUser,
  findAccount,
  hashPasswordOf,
  type ProvenUser,
  replacePassword,
  setPassword,
  type User,
} from './users.ts';

export interface NewMember {
  readonly workspaceId: number;
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  /** for a new account; an existing one keeps its own */
  readonly password: string;
}

/** Adds a person to a workspace. An account that a link created is not the address's account. */
export async function createMember(
  database: Database,
  { workspaceId, email, displayName, role, password }: NewMember,
  actor: Actor,
): Promise<{ user: User; isNew: boolean }> {
  const passwordHash = await hashPasswordOf(database, email, password);
  return await inTransaction(database, async (connection) => {
    await lockLedger(connection, workspaceId);
    const known = await findAccount(connection, email);
    const user = known ?? (await createUser(connection, { email, displayName, passwordHash }));
    await addMember(connection, workspaceId, user.id, role);
    await appendAudit(connection, workspaceId, actor, memberJoined(user.email, role));
    return { user, isNew: known === null };
  });
}

export async function recordOfUser(
  connection: Connection,
  user: Pick<User, 'id' | 'email'>,
  actor: Actor,
  change: Pick<Change, 'action' | 'after'>,
): Promise<void> {
  // Always in the same order, to avoid deadlocks between transactions that lock several ledgers.
  const { rows } = await connection.query<{ id: number }>(
    'SELECT workspace_id AS id FROM memberships WHERE user_id = $1 ORDER BY workspace_id',
    [user.id],
  );
  for (const { id } of rows) {
    await lockLedger(connection, id);
    await appendAudit(connection, id, actor, { ...change, subject: user.email });
  }
}

async function chooseAccount(
  connection: Connection,
  email: string,
  workspace: string | null,
): Promise<Pick<User, 'id' | 'email'>> {
  const { rows } = await connection.query<Pick<User, 'id' | 'email'> & { slugs: string[] }>(
    `SELECT u.id, u.address AS email,
            (SELECT coalesce(json_agg(w.slug ORDER BY w.slug), '[]')
               FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
              WHERE m.user_id = u.id) AS slugs
       FROM users u WHERE lower(u.address) = lower($1) ORDER BY u.id`,
    [email],
  );
  const fitting = rows.filter(({ slugs }) => workspace === null || slugs.includes(workspace));
  const [account, another] = fitting;
  if (account === undefined) {
    throw new OperatorError(`No account has the e-mail address ${email}: see sluice user list`);
  }
  if (another === undefined) return account;
  const slugs = fitting.flatMap((one) => one.slugs).join(', ');
  throw new OperatorError(
    `${email} has several accounts; choose one by its workspace with --workspace (${slugs})`,
  );
}

/** Gives a user another password and ends all sessions. @param workspace null if the address has one account */
export async function resetPassword(
  database: Database,
  email: string,
  password: string,
  actor: Actor,
  workspace: string | null = null,
): Promise<number> {
  const passwordHash = await hashPasswordOf(database, email, password);
  return await inTransaction(database, async (connection) => {
    const user = await chooseAccount(connection, email, workspace);
    await setPassword(connection, user.id, passwordHash);
    await recordOfUser(connection, user, actor, { action: 'user.password_reset' });
    return await revokeSessions(connection, user.id, null);
  });
}

/** Changes the password that was just checked, and ends all sessions. Returns the new hash, the new proof. */
export async function changePassword(
  database: Database,
  user: Pick<ProvenUser, 'id' | 'email' | 'proof'>,
  password: string,
  origin: string,
): Promise<string> {
  const passwordHash = await hashPasswordOf(database, user.email, password);
  return await inTransaction(database, async (connection) => {
    if (!(await replacePassword(connection, user.id, user.proof, passwordHash))) {
      throw new SluiceError(
        'sign_in_failed',
        'The password was changed in the meantime. Try again.',
      );
    }
    const actor = { userId: user.id, name: user.email, origin };
    await recordOfUser(connection, user, actor, { action: 'user.password_changed' });
    await revokeSessions(connection, user.id, null);
    return passwordHash;
  });
}
