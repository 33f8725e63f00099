/** Who somebody is, by a password or by what a provider says. */
import type { ProviderAccount } from '../model.ts';
import { type Connection, type Database, inTransaction } from './database.ts';
import { findInvitationsByEmail } from './invitations.ts';
import { joinByInvitation } from './member-writes.ts';
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts';
import { revokeSessions } from './sessions.ts';
import { recordOfUser } from './user-writes.ts';
import {
  addIdentity,
  createUser,
  findAccount,
  findIdentity,
  holdForLinking,
  type Proven,
  removePassword,
  replacePassword,
  type User,
} from './users.ts';

/**
 * The user of an e-mail address and a password; null when they do not fit, after the same time
 * whether or not there is an account.
 *
 * @throws {SluiceError} `overloaded` when too many passwords are being checked
 */
export async function signInByPassword(
  database: Database,
  email: string,
  password: string,
): Promise<Proven | null> {
  const account = await findAccount(database, email);
  const stored = account?.passwordHash ?? null;
  const fits = await verifyPassword(password, stored);
  if (account === null || stored === null || !fits) return null;
  const { passwordHash: proof, ...user } = { ...account, passwordHash: stored };
  if (!isOutdated(stored)) return { ...user, proof };
  const renewed = await hashPassword(password);
  const isRenewed = await replacePassword(database, user.id, stored, renewed);
  return { ...user, proof: isRenewed ? renewed : stored };
}

/**
 * Links an account here to one at a provider that has verified its address.
 *
 * Whoever follows an invitation's link chooses a password without showing that the address is theirs;
 * who invited may have done it. So the first proof of the address takes the place of that password,
 * and ends the sessions begun with it.
 *
 * @returns null when another account of this issuer has it: the address has been given to somebody else
 */
async function linkAccount(
  connection: Connection,
  user: User,
  account: ProviderAccount,
  origin: string,
): Promise<User | null> {
  const { isTaken, isUnproven } = await holdForLinking(connection, user.id, account.issuer);
  if (isTaken || !(await addIdentity(connection, user.id, account))) {
    const now = await findIdentity(connection, account.issuer, account.subject);
    return now?.id === user.id ? now : null;
  }
  if (isUnproven) {
    await removePassword(connection, user.id);
    await revokeSessions(connection, user.id, null);
  }
  const { provider, issuer } = account;
  const actor = { userId: user.id, name: user.email, origin };
  const after = { provider, issuer, password_removed: isUnproven };
  await recordOfUser(connection, user, actor, { action: 'user.provider_linked', after });
  return user;
}

/**
 * The user of an account at a provider: the one it is linked to; else the one with its verified
 * e-mail address, linked from here on; else a new one, when that address is invited. All open
 * invitations of the address are accepted with it.
 *
 * @param origin address of the client
 * @returns null when there is neither
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
    const existing = await findAccount(connection, email);
    if (existing !== null) return await linkAccount(connection, existing, account, origin);
    const invitations = await findInvitationsByEmail(connection, email);
    if (invitations.length === 0) return null;
    const displayName = account.displayName ?? email;
    const user = await createUser(connection, { email, displayName, passwordHash: null });
    await addIdentity(connection, user.id, account);
    // In the order of the workspaces, so that two who lock several ledgers do not wait for each other.
    const ordered = [...invitations].sort((one, other) => one.workspaceId - other.workspaceId);
    for (const invitation of ordered) {
      await joinByInvitation(connection, invitation, user, origin);
    }
    return user;
  });
}
