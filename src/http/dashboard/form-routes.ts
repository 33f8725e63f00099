/**
 * The dashboard's forms as browsers send them by themselves: what `/app/api` changes can be changed
 * without a script, too. Same needs, same checks, same ledger; the answer is the page to go on with.
 */

import { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import { AGENT_KEY_PREFIXES, RATE_LIMIT_MAX } from '../../model.ts';
import { shownOncePage } from '../../web/app/shell.ts';
import { readForm } from '../transport/json-body.ts';
import { pageAnswer } from '../transport/page.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoute, viewerOf } from './dashboard.ts';
import type { KeyDependencies } from './key-routes.ts';
import { invitationLink, type MemberDependencies } from './member-routes.ts';
import type { SettingDependencies } from './setting-routes.ts';
import {
  type AccountDependencies,
  beginSession,
  changePassword,
  endOtherSessions,
  endSession,
} from './sign-in/accounts.ts';
import {
  email,
  name,
  newPassword,
  password,
  requireId,
  role,
  slug,
} from './sign-in/person-fields.ts';
import { ADMINS, type Needs, RULE_PLANS } from './sign-in/signed-in.ts';

export interface FormDependencies
  extends DashboardDependencies,
    AccountDependencies,
    KeyDependencies,
    MemberDependencies,
    SettingDependencies {}

const ADMIN: Needs = { roles: ADMINS };
/** Writes about the signed-in account, which need no workspace. */
const ACCOUNT: Needs = { ofAccount: true };
const RULE_ADMIN: Needs = { roles: ADMINS, plans: RULE_PLANS };

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const tierForm = z.object({ experimental: flag });
const overrideForm = z.object({
  enabled: z.enum(['true', 'false', 'null']).transform((text) => {
    return text === 'null' ? null : text === 'true';
  }),
});
const keyForm = z.object({
  name,
  kind: z.enum(['agent', 'workspace']),
  prefix: z.enum(AGENT_KEY_PREFIXES).default('live'),
  rate_limit_per_minute: z.coerce.number().int().min(1).max(RATE_LIMIT_MAX),
});
const roleForm = z.object({ role });
const inviteForm = z.object({ email, role });
const settingForm = z.object({ name: name.optional(), redact_excerpts: flag.optional() });
const passwordForm = z.object({ current_password: password, new_password: newPassword });
const turnForm = z.object({ workspace: slug });

function ruleForms(deps: FormDependencies): Route[] {
  const { rules, settings } = deps;
  return [
    formRoute(
      '/app/rules',
      RULE_ADMIN,
      async ({ exchange, request }) => {
        const { experimental } = await readForm(exchange, tierForm);
        await settings.setExperimental(request.workspace.id, experimental, request.actor);
        return '/app/rules';
      },
      deps,
    ),
    formRoute(
      '/app/rules/{ruleId}',
      RULE_ADMIN,
      async ({ exchange, request, parameters }) => {
        const { enabled } = await readForm(exchange, overrideForm);
        const rule = rules.rules.find(({ id }) => id === parameters.ruleId);
        if (rule === undefined) {
          throw new SluiceError('not_found', 'The snapshot has no such rule.');
        }
        const refused = enabled === true ? settings.refusal(rule) : null;
        if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
        await settings.setOverride(request.workspace.id, rule.id, enabled, request.actor);
        return `/app/rules/${rule.id}`;
      },
      deps,
    ),
  ];
}

function keyForms(deps: FormDependencies): Route[] {
  const { keys, look } = deps;
  return [
    formRoute(
      '/app/keys',
      ADMIN,
      async ({ exchange, request }) => {
        const form = await readForm(exchange, keyForm);
        const wanted = {
          kind: form.kind,
          name: form.name,
          agentPrefix: form.prefix,
          rateLimitPerMinute: form.rate_limit_per_minute,
        };
        const { key } = await keys.make(request.workspace.id, wanted, request.actor);
        const shown = { title: `Key “${form.name}”`, current: '/app/keys', secret: key };
        return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
      },
      deps,
    ),
    formRoute(
      '/app/keys/{keyId}/revoke',
      ADMIN,
      async ({ request, parameters }) => {
        await keys.revoke(request.workspace.id, requireId(parameters.keyId), request.actor);
        return '/app/keys';
      },
      deps,
    ),
  ];
}

function memberForms(deps: FormDependencies): Route[] {
  const { members, look, baseUrl } = deps;
  const path = '/app/members';
  return [
    formRoute(
      `${path}/{userId}`,
      ADMIN,
      async ({ exchange, request, parameters }) => {
        const form = await readForm(exchange, roleForm);
        const change = { userId: requireId(parameters.userId), role: form.role };
        await members.setRole(request.workspace.id, change, request.actor);
        return path;
      },
      deps,
    ),
    formRoute(
      `${path}/{userId}/remove`,
      ADMIN,
      async ({ request, parameters }) => {
        await members.remove(request.workspace.id, requireId(parameters.userId), request.actor);
        return path;
      },
      deps,
    ),
    formRoute(
      '/app/invitations',
      ADMIN,
      async ({ exchange, request }) => {
        const form = await readForm(exchange, inviteForm);
        const { token } = await members.invite(request.workspace.id, form, request.actor);
        const secret = invitationLink(baseUrl, token);
        const shown = { title: `Invitation of ${form.email}`, current: path, secret };
        return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
      },
      deps,
    ),
    formRoute(
      '/app/invitations/{invitationId}/withdraw',
      ADMIN,
      async ({ request, parameters }) => {
        await members.uninvite(
          request.workspace.id,
          requireId(parameters.invitationId),
          request.actor,
        );
        return path;
      },
      deps,
    ),
  ];
}

function settingForms(deps: FormDependencies): Route[] {
  const { settings, accounts } = deps;
  const path = '/app/settings';
  return [
    formRoute(
      path,
      ADMIN,
      async ({ exchange, request }) => {
        const form = await readForm(exchange, settingForm);
        const { workspace, actor } = request;
        if (form.name !== undefined) await settings.rename(workspace.id, form.name, actor);
        if (form.redact_excerpts !== undefined) {
          await settings.setRedaction(workspace.id, form.redact_excerpts, actor);
        }
        return path;
      },
      deps,
    ),
    formRoute(
      '/app/workspace',
      ACCOUNT,
      async ({ exchange, request: { session } }) => {
        const { workspace } = await readForm(exchange, turnForm);
        if (await accounts.turnSession(session.id, workspace)) return '/app';
        throw new SluiceError('not_found', 'This account belongs to no such workspace.');
      },
      deps,
    ),
  ];
}

function sessionForms(deps: FormDependencies): Route[] {
  const path = '/app/settings';
  return [
    formRoute(
      '/app/sessions/{sessionId}/end',
      ACCOUNT,
      async ({ request, parameters: { sessionId = '' } }) => {
        await endSession(request.session, sessionId, request, deps);
        return path;
      },
      deps,
    ),
    formRoute(
      '/app/sessions/end-others',
      ACCOUNT,
      async ({ request }) => {
        await endOtherSessions(request.session, request, deps);
        return path;
      },
      deps,
    ),
    formRoute(
      '/app/password',
      ACCOUNT,
      async ({ exchange, request }) => {
        const form = await readForm(exchange, passwordForm);
        const { session, workspace } = request;
        const given = { current: form.current_password, next: form.new_password };
        const user = await changePassword(request, session, given, deps);
        const begun = await beginSession(request, user, workspace.slug, deps);
        return { location: path, headers: begun?.headers ?? [] };
      },
      deps,
    ),
  ];
}

/** The routes that forms are sent to. */
export function formRoutes(deps: FormDependencies): Route[] {
  return [
    ...ruleForms(deps),
    ...keyForms(deps),
    ...memberForms(deps),
    ...settingForms(deps),
    ...sessionForms(deps),
  ];
}
