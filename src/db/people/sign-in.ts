/** Signing in: finds the user of a password, or of an account at an OAuth provider. */
import type { ProviderAccount } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { findInvitationsByEmail } from './invitations.ts';
import { joinByInvitation } from './member-writes.ts';
import { findFitting, hashPassword, isOutdated, saltBeside } from './passwords.ts';
import { recordOfUser } from './user-writes.ts';
import {
  type Account,
  addIdentity,
  createUser,
  findIdentity,
  lockForLinking,
  type ProvenUser,
  replacePassword,
  USER_COLUMNS,
  type User,
} from './users.ts';
import { accountOfAddress, lockLinkMade, mergeLinkMade } from './workspace-accounts.ts';

interface Selection {
  /** only this account */
  readonly userId?: number;
  /** preferably the account of this workspace */
  readonly workspaceSlug?: string | null;
}

/** The accounts of an address: the named workspace's first, then members, verified ones, older ones. */
async function accountsOf(
  database: Database,
  email: string,
  { userId, workspaceSlug }: Selection,
): Promise<Account[]> {
  const { rows } = await database.query<Account>(
    `SELECT ${USER_COLUMNS}, password_hash AS "passwordHash"
       FROM users u
       LEFT JOIN LATERAL (
         SELECT count(*) > 0 AS "isMember", coalesce(bool_or(w.slug = $3), false) AS "isNamed"
           FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
          WHERE m.user_id = u.id) AS joined ON true
      WHERE lower(address) = lower($1) AND ($2::int IS NULL OR u.id = $2)
      ORDER BY joined."isNamed" DESC, joined."isMember" DESC, u.email IS NULL, u.id`,
    [email, userId ?? null, workspaceSlug ?? null],
  );
  return rows;
}

/**
 * The user of an e-mail address and a password. The accounts of an address share one salt, so one hash is
 * computed, also without an account: the time does not reveal how many there are.
 */
export async function signInByPassword(
  database: Database,
  email: string,
  password: string,
  selection: Selection = {},
): Promise<ProvenUser | null> {
  const accounts = await accountsOf(database, email, selection);
  const stored = accounts.flatMap(({ passwordHash }) => passwordHash ?? []);
  const fitting = await findFitting(password, stored);
  const account = accounts.find(({ passwordHash }) => passwordHash === fitting);
  if (account === undefined || fitting === null) return null;
  const { passwordHash: _, ...user } = account;
  if (!isOutdated(fitting)) return { ...user, proof: fitting };
  const renewed = await hashPassword(password, saltBeside(fitting));
  const isRenewed = await replacePassword(database, user.id, fitting, renewed);
  return { ...user, proof: isRenewed ? renewed : fitting };
}

/**
 * Links an account to one at a provider that has verified its address; accounts of links are merged into it.
 * Null when the user has another account at this provider: the address has a new owner.
 */
async function linkAccount(
  connection: Connection,
  user: User,
  linkMade: readonly User[],
  account: ProviderAccount,
  origin: string,
): Promise<User | null> {
  const isTaken = await lockForLinking(connection, user.id, account.issuer);
  if (isTaken || !(await addIdentity(connection, user.id, account))) {
    const linked = await findIdentity(connection, account.issuer, account.subject);
    return linked?.id === user.id ? linked : null;
  }
  await mergeLinkMade(connection, user, linkMade);
  const { provider, issuer } = account;
  const actor = { userId: user.id, name: user.email, origin };
  const after = { provider, issuer, password_removed: linkMade.length > 0 };
  await recordOfUser(connection, user, actor, { action: 'user.provider_linked', after });
  return user;
}

/**
 * The user of an account at a provider: the one it is linked to; else the one with its verified e-mail
 * address, linked from here on; else a new one, when that address is invited. All open invitations of the
 * address are accepted with it.
 */
export async function signInByProvider(
  database: Database,
  account: ProviderAccount,
  origin: string,
): Promise<User | null> {
  return await inTransaction(database, async (connection) => {
    const known = await findIdentity(connection, account.issuer, account.subject);
    if (known !== null) return known;
    const email = account.verifiedEmail;
    if (email === null) return null;
    const linkMade = await lockLinkMade(connection, email);
    const existing = await accountOfAddress(connection, email, linkMade);
    if (existing !== null)
      return await linkAccount(connection, existing, linkMade, account, origin);
    const invitations = await findInvitationsByEmail(connection, email);
    if (invitations.length === 0) return null;
    const displayName = account.displayName ?? email;
    const user = await createUser(connection, { email, displayName, passwordHash: null });
    await addIdentity(connection, user.id, account);
    // Always in the same order, to avoid deadlocks between transactions that lock several ledgers.
    const ordered = [...invitations].sort((one, other) => one.workspaceId - other.workspaceId);
    for (const invitation of ordered) {
      await joinByInvitation(connection, invitation, user, origin);
    }
    return user;
  });
}
