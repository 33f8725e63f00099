/**
 * Changes of a workspace's members and invitations, each with its ledger entry. Only owners create,
 * change or remove owners.
 */
import { SluiceError } from '../../errors.ts';
import type { Actor, Invitation, Role } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, lockLedger } from './audit.ts';
import { recordedByAdmin } from './authority.ts';
import {
  findInvitation,
  findInvitationByToken,
  insertInvitation,
  markAccepted,
  markRevoked,
} from './invitations.ts';
import {
  addMember,
  deleteMembership,
  findMember,
  memberJoined,
  updateRole,
} from './memberships.ts';
import { findUser, hashPasswordOf, type User } from './users.ts';
import { createWorkspaceAccount } from './workspace-accounts.ts';
import { findWorkspaceById } from './workspaces.ts';

function ownersOnly(by: Role, ...concerned: Role[]): void {
  if (by === 'owner' || !concerned.includes('owner')) return;
  throw new SluiceError('role_required', 'Only an owner can add, change or remove owners.');
}

export async function setRole(
  database: Database,
  workspaceId: number,
  { userId, role }: { userId: number; role: Role },
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record, by) => {
    const member = await findMember(connection, workspaceId, userId);
    ownersOnly(by, member.role, role);
    if (member.role === role) return;
    await updateRole(connection, workspaceId, userId, role);
    const before = { role: member.role };
    await record({ action: 'member.role', subject: member.email, before, after: { role } });
  });
}

/** Removes a member; its sessions see nothing of the workspace from the commit on. */
export async function removeMember(
  database: Database,
  workspaceId: number,
  userId: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record, by) => {
    const { email, role } = await findMember(connection, workspaceId, userId);
    ownersOnly(by, role);
    await deleteMembership(connection, workspaceId, userId);
    await record({ action: 'member.removed', subject: email, before: { role } });
  });
}

export async function createInvitation(
  database: Database,
  workspaceId: number,
  { email, role }: { email: string; role: Role },
  actor: Actor,
): Promise<{ invitation: Invitation; token: string }> {
  return await recordedByAdmin(database, workspaceId, actor, async (connection, record, by) => {
    ownersOnly(by, role);
    const invited = { email, role, invitedBy: actor.userId };
    const created = await insertInvitation(connection, workspaceId, invited);
    const after = { role, expires_at: created.invitation.expiresAt.toISOString() };
    await record({ action: 'invitation.created', subject: email, after });
    return created;
  });
}

export async function revokeInvitation(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record, by) => {
    const { email, role } = await findInvitation(connection, workspaceId, id);
    ownersOnly(by, role);
    await markRevoked(connection, workspaceId, id);
    await record({ action: 'invitation.revoked', subject: email, before: { role } });
  });
}

export async function joinByInvitation(
  connection: Connection,
  { id, workspaceId, email, role }: Invitation,
  user: User,
  origin: string,
): Promise<void> {
  await lockLedger(connection, workspaceId);
  await markAccepted(connection, id);
  await addMember(connection, workspaceId, user.id, role);
  const actor = { userId: user.id, name: user.email, origin };
  await appendAudit(connection, workspaceId, actor, memberJoined(email, role));
}

type Invitee =
  | { readonly userId: number }
  | { readonly displayName: string; readonly passwordHash: string };

async function signedInInvitee(
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
 * Accepts an invitation by its link. A link creates an account in its own workspace and gives no access to
 * an existing one. The result is the same whether or not the address has an account elsewhere.
 */
export async function acceptInvitation(
  database: Database,
  token: string,
  invitee: Invitee,
  origin: string,
): Promise<User> {
  return await inTransaction(database, async (connection) => {
    const invitation = await findInvitationByToken(connection, token);
    const { email, workspaceId } = invitation;
    await lockLedger(connection, workspaceId);
    const user =
      'userId' in invitee
        ? await signedInInvitee(connection, invitee.userId, invitation)
        : await createWorkspaceAccount(connection, workspaceId, { email, ...invitee });
    await joinByInvitation(connection, invitation, user, origin);
    return user;
  });
}

export async function findInvitationOfLink(database: Database, token: string) {
  const { email, role, workspaceId } = await findInvitationByToken(database, token);
  const workspace = await findWorkspaceById(database, workspaceId);
  return { email, role, workspace: workspace?.name ?? '' };
}

/** As `acceptInvitation`, with a password that is not hashed yet. */
export async function acceptInvitationOfLink(
  database: Database,
  token: string,
  by: { readonly userId: number } | { readonly displayName: string; readonly password: string },
  origin: string,
): Promise<{ id: number; workspaceSlug: string }> {
  // Before the password is hashed: a made-up token must not cause that work.
  const { workspaceId, email } = await findInvitationByToken(database, token);
  const invitee =
    'userId' in by
      ? by
      : {
          displayName: by.displayName,
          passwordHash: await hashPasswordOf(database, email, by.password),
        };
  const user = await acceptInvitation(database, token, invitee, origin);
  const workspace = await findWorkspaceById(database, workspaceId);
  return { id: user.id, workspaceSlug: workspace?.slug ?? '' };
}
