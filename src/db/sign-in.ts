/** Who somebody is, by a password or by what a provider says. */
import { type Database, inTransaction } from './database.ts';
import { findInvitationsByEmail } from './invitations.ts';
import { joinByInvitation } from './member-writes.ts';
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts';
import {
  addIdentity,
  createUser,
  findAccount,
  findIdentity,
  type Identity,
  setPassword,
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
): Promise<User | null> {
  const account = await findAccount(database, email);
  const stored = account?.passwordHash ?? null;
  const fits = await verifyPassword(password, stored);
  if (account === null || stored === null || !fits) return null;
  if (isOutdated(stored)) await setPassword(database, account.id, await hashPassword(password));
  return account;
}

/** What a provider says of somebody who signed in there. */
export interface ProviderAccount extends Identity {
  /** null unless the provider says that it is verified */
  readonly verifiedEmail: string | null;
  readonly displayName: string | null;
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
    if (existing !== null) {
      await addIdentity(connection, existing.id, account);
      return existing;
    }
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
