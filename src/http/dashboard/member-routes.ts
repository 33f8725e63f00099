/** Who belongs to a workspace, and invitations to it. Only owners deal with owners. */
import { z } from 'zod';

import type { Invitation, Member, Role, SessionActor } from '../../model.ts';
import { readJson } from '../transport/json-body.ts';
import { json } from '../transport/problem.ts';
import type { Route } from '../transport/router.ts';
import { begun } from './sign-in/account-routes.ts';
import { type AccountDependencies, logged } from './sign-in/accounts.ts';
import { email, name, newPassword, requireId, role, token } from './sign-in/person-fields.ts';
import { ADMINS, sessionOf, signedIn, type Visit, visited } from './sign-in/signed-in.ts';

/** Who accepts: somebody signed in, or somebody new. */
export type Accepting =
  | { readonly userId: number }
  | { readonly displayName: string; readonly password: string };

/** What is asked of the rest about members. Changes ask for the role of the actor once more. */
export interface Members {
  readonly list: (workspaceId: number) => Promise<readonly Member[]>;
  readonly setRole: (
    workspaceId: number,
    change: { readonly userId: number; readonly role: Role },
    actor: SessionActor,
  ) => Promise<void>;
  readonly remove: (workspaceId: number, userId: number, actor: SessionActor) => Promise<void>;
  readonly invitations: (workspaceId: number) => Promise<readonly Invitation[]>;
  readonly invite: (
    workspaceId: number,
    whom: { readonly email: string; readonly role: Role },
    actor: SessionActor,
  ) => Promise<{ readonly invitation: Invitation; readonly token: string }>;
  readonly uninvite: (workspaceId: number, id: number, actor: SessionActor) => Promise<void>;
  readonly accept: (
    token: string,
    who: Accepting,
    origin: string,
  ) => Promise<{ readonly id: number; readonly workspaceSlug: string }>;
}

export interface MemberDependencies extends AccountDependencies {
  readonly members: Members;
}

const roleBody = z.strictObject({ role });
const inviteBody = z.strictObject({ email, role });
const acceptBody = z.strictObject({
  token,
  display_name: name.optional(),
  password: newPassword.optional(),
});

const toView = (one: Invitation) => ({
  id: one.id,
  email: one.email,
  role: one.role,
  created_at: one.createdAt,
  expires_at: one.expiresAt,
  invited_by: one.invitedBy,
});

/** The link of an invitation, good once. It leads to a page that needs no script. */
export function invitationLink(baseUrl: string, secret: string): string {
  return `${baseUrl}/app/invitation/${secret}`;
}

function memberRoutesOf(deps: MemberDependencies): Route[] {
  const { members } = deps;
  const list = signedIn(
    {},
    async (_exchange, { workspace }) => {
      const found = await members.list(workspace.id);
      return json({
        members: found.map((one) => ({
          user_id: one.userId,
          email: one.email,
          display_name: one.displayName,
          role: one.role,
          since: one.createdAt,
          last_seen_at: one.lastSeenAt,
        })),
      });
    },
    deps,
  );
  const setRole = signedIn(
    { roles: ADMINS },
    async (exchange, { workspace, actor }, { userId }) => {
      const id = requireId(userId);
      const body = await readJson(exchange, roleBody);
      await members.setRole(workspace.id, { userId: id, role: body.role }, actor);
      return json({ user_id: id, role: body.role });
    },
    deps,
  );
  const remove = signedIn(
    { roles: ADMINS },
    async (_exchange, { workspace, actor }, { userId }) => {
      const id = requireId(userId);
      await members.remove(workspace.id, id, actor);
      return json({ user_id: id, removed: true });
    },
    deps,
  );
  return [
    { method: 'GET', path: '/app/api/members', handler: list },
    { method: 'PUT', path: '/app/api/members/{userId}', handler: setRole },
    { method: 'DELETE', path: '/app/api/members/{userId}', handler: remove },
  ];
}

function invitationRoutes(deps: MemberDependencies): Route[] {
  const { members } = deps;
  const list = signedIn(
    { roles: ADMINS },
    async (_exchange, { workspace }) => {
      const found = await members.invitations(workspace.id);
      return json({ invitations: found.map(toView) });
    },
    deps,
  );
  const invite = signedIn(
    { roles: ADMINS },
    async (exchange, { workspace, actor }) => {
      const body = await readJson(exchange, inviteBody);
      const made = await members.invite(workspace.id, body, actor);
      return json(
        {
          ...toView(made.invitation),
          token: made.token,
          link: invitationLink(deps.baseUrl, made.token),
        },
        201,
      );
    },
    deps,
  );
  const uninvite = signedIn(
    { roles: ADMINS },
    async (_exchange, { workspace, actor }, { invitationId }) => {
      const id = requireId(invitationId);
      await members.uninvite(workspace.id, id, actor);
      return json({ id, revoked: true });
    },
    deps,
  );
  return [
    { method: 'GET', path: '/app/api/invitations', handler: list },
    { method: 'POST', path: '/app/api/invitations', handler: invite },
    { method: 'DELETE', path: '/app/api/invitations/{invitationId}', handler: uninvite },
    { method: 'POST', path: '/app/api/invitations/accept', handler: acceptance(deps) },
  ];
}

async function accepting(
  { head }: Visit,
  { display_name, password }: z.infer<typeof acceptBody>,
  deps: MemberDependencies,
): Promise<Accepting> {
  if (display_name !== undefined && password !== undefined) {
    return { displayName: display_name, password };
  }
  return { userId: (await sessionOf(head, deps)).userId };
}

/** With `display_name` and `password` by somebody new, without by somebody signed in. */
function acceptance(deps: MemberDependencies) {
  return visited(async (exchange, visit) => {
    const body = await readJson(exchange, acceptBody);
    await deps.signInLimiter.admit(null, visit.address);
    const who = await accepting(visit, body, deps);
    const signIn = { way: 'invitation', address: visit.address };
    const accept = () => deps.members.accept(body.token, who, visit.address);
    const { id, workspaceSlug } = await logged(signIn, accept, deps);
    return await begun(visit, { id }, workspaceSlug, deps);
  }, deps);
}

/** Members, their roles, and invitations. */
export function memberRoutes(deps: MemberDependencies): Route[] {
  return [...memberRoutesOf(deps), ...invitationRoutes(deps)];
}
