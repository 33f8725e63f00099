/**
 * What is changed about who belongs to a workspace, each with its ledger entry. Only owners make,
 * change or remove owners.
 */
import { SluiceError } from '../../errors.ts';
import type { Actor, Invitation, Role } from '../../model.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, lockLedger } from './audit.ts';
import { recordedByAdmin } from './authority.ts';
import {
  createInvitation,
  findInvitation,
  findInvitationByToken,
  revokeInvitation,
  takeInvitation,
} from './invitations.ts';
import { addMember, findMember, removeMember, setRole } from './memberships.ts';
import { findUser, type User } from './users.ts';
import { confineLinkMade, createWorkspaceAccount } from './workspace-accounts.ts';

function ownersOnly(by: Role, ...concerned: Role[]): void {
  if (by === 'owner' || !concerned.includes('owner')) return;
  throw new SluiceError('role_required', 'Only an owner makes, changes or removes owners.');
}

/**
 * Gives a member another role.
 *
 * @throws {SluiceError} `not_found`, `role_required`, `conflict`
 */
export async function changeRole(
  database: Database,
  workspaceId: number,
  { userId, role }: { userId: number; role: Role },
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, by) => {
    const member = await findMember(connection, workspaceId, userId);
    ownersOnly(by, member.role, role);
    if (member.role === role) return { result: undefined, change: null };
    await setRole(connection, workspaceId, userId, role);
    const change = {
      action: 'member.role',
      subject: member.email,
      before: { role: member.role },
      after: { role },
    };
    return { result: undefined, change };
  });
}

/**
 * Takes a member out of the workspace.
 *
 * @throws {SluiceError} `not_found`, `role_required`, `conflict`
 */
export async function dropMember(
  database: Database,
  workspaceId: number,
  userId: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, by) => {
    const member = await findMember(connection, workspaceId, userId);
    ownersOnly(by, member.role);
    await removeMember(connection, workspaceId, userId);
    const before = { role: member.role };
    return {
      result: undefined,
      change: { action: 'member.removed', subject: member.email, before, after: null },
    };
  });
}

/**
 * Invites somebody.
 *
 * @returns the token for the link, shown this once
 * @throws {SluiceError} `role_required`, `conflict`
 */
export async function invite(
  database: Database,
  workspaceId: number,
  { email, role }: { email: string; role: Role },
  actor: Actor,
): Promise<{ invitation: Invitation; token: string }> {
  return await recordedByAdmin(database, workspaceId, actor, async (connection, by) => {
    ownersOnly(by, role);
    const made = await createInvitation(connection, workspaceId, {
      email,
      role,
      invitedBy: actor.userId,
    });
    const after = { role, expires_at: made.invitation.expiresAt.toISOString() };
    return {
      result: made,
      change: { action: 'invitation.created', subject: email, before: null, after },
    };
  });
}

/**
 * Takes an open invitation back.
 *
 * @throws {SluiceError} `not_found`, `role_required`
 */
export async function uninvite(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, by) => {
    const { email, role } = await findInvitation(connection, workspaceId, id);
    ownersOnly(by, role);
    await revokeInvitation(connection, workspaceId, id);
    return {
      result: undefined,
      change: { action: 'invitation.revoked', subject: email, before: { role }, after: null },
    };
  });
}

/** Uses an invitation up: the user joins, and the ledger says so. */
export async function joinByInvitation(
  connection: Connection,
  { id, workspaceId, email, role }: Invitation,
  user: User,
  origin: string,
): Promise<void> {
  await lockLedger(connection, workspaceId);
  await takeInvitation(connection, id);
  await addMember(connection, workspaceId, user.id, role);
  const actor = { userId: user.id, name: user.email, origin };
  const change = { action: 'member.joined', subject: email, before: null, after: { role } };
  await appendAudit(connection, workspaceId, actor, change);
}

/** A signed-in user, or a new person with a name and a password. */
type Invitee =
  | { readonly userId: number }
  | { readonly displayName: string; readonly passwordHash: string };

/** @throws {SluiceError} `conflict` when the signed-in account cannot accept */
async function signedInGuest(
  connection: Connection,
  userId: number,
  { email, workspaceId }: Invitation,
): Promise<User> {
  const user = await findUser(connection, userId);
  if (user?.email.toLowerCase() !== email.toLowerCase()) {
    throw new SluiceError('conflict', 'The invitation is for another e-mail address.');
  }
  if (user.onlyWorkspaceId === null || user.onlyWorkspaceId === workspaceId) return user;
  throw new SluiceError(
    'conflict',
    'You are signed in with an account that was created through the link of another workspace and ' +
      'belongs to that workspace only. Sign out, then open this link again to create an account here.',
  );
}

/**
 * Accepts an invitation by its link. A link creates an account in its own workspace and gives no
 * access to an existing one. The result is the same whether or not the address has an account
 * elsewhere.
 *
 * @param origin address of the client
 * @throws {SluiceError} `not_found` when it is not open; `conflict` when the signed-in account
 *   cannot accept, or the address has become a member's
 */
export async function acceptInvitation(
  database: Database,
  token: string,
  who: Invitee,
  origin: string,
): Promise<User> {
  return await inTransaction(database, async (connection) => {
    const invitation = await findInvitationByToken(connection, token);
    const { email, workspaceId } = invitation;
    await confineLinkMade(connection, email);
    await lockLedger(connection, workspaceId);
    const user =
      'userId' in who
        ? await signedInGuest(connection, who.userId, invitation)
        : await createWorkspaceAccount(connection, workspaceId, { email, ...who });
    await joinByInvitation(connection, invitation, user, origin);
    return user;
  });
}
