/**
 * The page of a workspace's members and invitations, and its forms. Only owners change owners; the
 * store checks that.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { membersPage } from '../../web/app/members.ts';
import { shownOncePage } from '../../web/app/shell.ts';
import { readForm } from '../transport/json-body.ts';
import { pageAnswer } from '../transport/page.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes, viewerOf } from './dashboard.ts';
import { email, requireId, role } from './sign-in/person-fields.ts';
import { ADMINS, type Needs } from './sign-in/signed-in.ts';

export interface MemberPageDependencies extends DashboardDependencies {
  readonly members: Store['members'];
}

const PATH = '/app/members';
const INVITATIONS = '/app/invitations';
const ADMIN: Needs = { roles: ADMINS };

const roleForm = z.object({ role });
const inviteForm = z.object({ email, role });

export function memberPages(deps: MemberPageDependencies): Route[] {
  const { members, look, baseUrl } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const invitations = viewer.isAdmin ? await members.invitations(id) : [];
      return membersPage(look, viewer, { members: await members.list(id), invitations, nowMs });
    }),
    form(`${PATH}/{userId}`, ADMIN, async ({ exchange, request, parameters }) => {
      const sent = await readForm(exchange, roleForm);
      const change = { userId: requireId(parameters.userId), role: sent.role };
      await members.setRole(request.workspace.id, change, request.actor);
      return PATH;
    }),
    form(`${PATH}/{userId}/remove`, ADMIN, async ({ request, parameters }) => {
      await members.remove(request.workspace.id, requireId(parameters.userId), request.actor);
      return PATH;
    }),
    form(INVITATIONS, ADMIN, async ({ exchange, request }) => {
      const sent = await readForm(exchange, inviteForm);
      const { token } = await members.createInvitation(request.workspace.id, sent, request.actor);
      const shown = {
        title: `Invitation of ${sent.email}`,
        current: PATH,
        lead: 'Give them this link. It works once, and is not shown again.',
        secret: `${baseUrl}/app/invitation/${token}`,
      };
      return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
    }),
    form(`${INVITATIONS}/{invitationId}/revoke`, ADMIN, async ({ request, parameters }) => {
      const id = requireId(parameters.invitationId);
      await members.revokeInvitation(request.workspace.id, id, request.actor);
      return PATH;
    }),
  ];
}
