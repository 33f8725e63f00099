/**
 * The settings page and its forms: the workspace's name and redaction, and the signed-in user's
 * workspace, sessions and password.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import { settingsPage } from '../../web/app/settings.ts';
import type { RuleReader } from '../api/rules/rule-routes.ts';
import { readForm } from '../transport/json-body.ts';
import { flag } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import {
  accountFormRoutes,
  type DashboardDependencies,
  formRoutes,
  pageRoutes,
} from './dashboard.ts';
import { ruleFactsOf } from './rule-facts.ts';
import {
  type AccountDependencies,
  beginSession,
  changePassword,
  endOtherSessions,
  endSession,
} from './sign-in/accounts.ts';
import { name, newPassword, PASSWORD_CHARS_MIN, password, slug } from './sign-in/person-fields.ts';
import { ADMINS } from './sign-in/signed-in.ts';

export interface SettingsPageDependencies extends DashboardDependencies, AccountDependencies {
  readonly settings: Store['settings'];
  readonly rules: RuleReader;
}

const PATH = '/app/settings';

const workspaceForm = z
  .strictObject({ name: name.optional(), redact_excerpts: flag.optional() })
  .refine((sent) => Object.keys(sent).length > 0, 'must name something to change');
const passwordForm = z.object({ current_password: password, new_password: newPassword });
const switchForm = z.object({ workspace: slug });

function workspaceRoutes(deps: SettingsPageDependencies): Route[] {
  const { settings, accounts, look, rules } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, {}, async ({ request: { session, workspace }, viewer, nowMs }) => {
      const [sessions, workspaces, ruleSettings] = await Promise.all([
        accounts.sessionsOf(session.userId),
        accounts.workspacesOf(session.userId),
        rules.settings(workspace.id),
      ]);
      return settingsPage(look, viewer, {
        slug: workspace.slug,
        redactExcerpts: workspace.redactExcerpts,
        rules: ruleFactsOf(rules, ruleSettings),
        sessions: sessions.map((one) => ({ ...one, isThis: one.id === session.id })),
        workspaces,
        passwordCharsMin: PASSWORD_CHARS_MIN,
        nowMs,
      });
    }),
    form(PATH, { roles: ADMINS }, async ({ exchange, request: { workspace, actor } }) => {
      const sent = await readForm(exchange, workspaceForm);
      if (sent.name !== undefined) await settings.rename(workspace.id, sent.name, actor);
      if (sent.redact_excerpts !== undefined) {
        await settings.setRedaction(workspace.id, sent.redact_excerpts, actor);
      }
      return PATH;
    }),
  ];
}

function accountRoutes(deps: SettingsPageDependencies): Route[] {
  const form = accountFormRoutes(deps);
  return [
    form('/app/workspace', async ({ exchange, request: { session } }) => {
      const { workspace } = await readForm(exchange, switchForm);
      if (await deps.accounts.switchSession(session.id, workspace)) return '/app';
      throw new SluiceError('not_found', 'This account is not a member of such a workspace.');
    }),
    form('/app/sessions/{sessionId}/end', async ({ request, parameters }) => {
      await endSession(request.session, parameters.sessionId ?? '', request, deps);
      return PATH;
    }),
    form('/app/sessions/end-others', async ({ request }) => {
      await endOtherSessions(request.session, request, deps);
      return PATH;
    }),
    form('/app/password', async ({ exchange, request }) => {
      const sent = await readForm(exchange, passwordForm);
      const given = { current: sent.current_password, next: sent.new_password };
      const user = await changePassword(request, request.session, given, deps);
      const workspace = request.session.workspace?.slug ?? null;
      return { location: PATH, headers: await beginSession(request, user, workspace, deps) };
    }),
  ];
}

export function settingsPages(deps: SettingsPageDependencies): Route[] {
  return [...workspaceRoutes(deps), ...accountRoutes(deps)];
}
