/** The dashboard's pages about rules, keys, members, the ledger and settings. */
import { SluiceError } from '../../errors.ts';
import type { Rule, RuleSettings, SessionWorkspace } from '../../model.ts';
import { auditPage } from '../../web/app/audit.ts';
import { keysPage } from '../../web/app/keys.ts';
import { membersPage } from '../../web/app/members.ts';
import { rulePage } from '../../web/app/rule.ts';
import { type DecidedRule, rulesPage, upgradePage } from '../../web/app/rules.ts';
import { settingsPage } from '../../web/app/settings.ts';
import { type RuleReader, rulesQuery, toRulePage } from '../api/rules/rule-routes.ts';
import { parseQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type AuditReader, auditQuery } from './audit-routes.ts';
import { type DashboardDependencies, pageRoute } from './dashboard.ts';
import type { Keys } from './key-routes.ts';
import type { Members } from './member-routes.ts';
import type { Accounts } from './sign-in/accounts.ts';
import { PASSWORD_CHARS_MIN } from './sign-in/person-fields.ts';
import { ADMINS, RULE_PLANS } from './sign-in/signed-in.ts';

export interface WorkspacePageDependencies extends DashboardDependencies {
  readonly rules: RuleReader;
  readonly keys: Keys;
  readonly members: Members;
  readonly audit: AuditReader;
  readonly accounts: Accounts;
}

const hasRules = ({ plan }: SessionWorkspace): boolean => RULE_PLANS.includes(plan);

function rulePages(deps: WorkspacePageDependencies): Route[] {
  const { rules: book, look } = deps;
  const byId = new Map(book.rules.map((rule) => [rule.id, rule]));
  const decided = (rule: Rule, settings: RuleSettings): DecidedRule => ({
    rule,
    ...book.decide(rule, settings),
    override: settings.overrides.get(rule.id) ?? null,
  });
  return [
    pageRoute(
      '/app/rules',
      {},
      async ({ exchange, request, viewer }) => {
        if (!hasRules(request.workspace)) return upgradePage(look, viewer);
        const settings = await book.settings(request.workspace.id);
        const page = toRulePage(parseQuery(rulesQuery, exchange.query), settings, book);
        const rules = page.rules.flatMap(({ id }) => byId.get(id) ?? []);
        return rulesPage(look, viewer, {
          snapshot: book.snapshot,
          counts: book.counts,
          experimental: settings.experimental,
          rules: rules.map((rule) => decided(rule, settings)),
          query: exchange.query,
          page: page.page,
          pages: page.total_pages,
          total: page.total,
        });
      },
      deps,
    ),
    pageRoute(
      '/app/rules/{ruleId}',
      {},
      async ({ request, viewer, parameters }) => {
        if (!hasRules(request.workspace)) return upgradePage(look, viewer);
        const rule = byId.get(parameters.ruleId ?? '');
        if (rule === undefined)
          throw new SluiceError('not_found', 'The snapshot has no such rule.');
        const settings = await book.settings(request.workspace.id);
        return rulePage(look, viewer, decided(rule, settings));
      },
      deps,
    ),
  ];
}

const LEDGER_ENTRIES = 50;

/** Every page that is about the workspace and not about what arrived. */
export function workspacePages(deps: WorkspacePageDependencies): Route[] {
  const { look, keys, members, audit, accounts } = deps;
  return [
    ...rulePages(deps),
    pageRoute(
      '/app/keys',
      {},
      async ({ request, viewer, nowMs }) =>
        keysPage(look, viewer, { keys: await keys.list(request.workspace.id), nowMs }),
      deps,
    ),
    pageRoute(
      '/app/members',
      {},
      async ({ request, viewer, nowMs }) => {
        const { id } = request.workspace;
        const invitations = viewer.isAdmin ? await members.invitations(id) : [];
        return membersPage(look, viewer, { members: await members.list(id), invitations, nowMs });
      },
      deps,
    ),
    pageRoute(
      '/app/audit',
      { roles: ADMINS },
      async ({ exchange, request, viewer, nowMs }) => {
        const { cursor } = parseQuery(auditQuery, exchange.query);
        const page = await audit(request.workspace.id, cursor ?? null, LEDGER_ENTRIES);
        const entries = page.entries.map((entry) => ({
          ...entry,
          hash: entry.hash.toString('hex'),
        }));
        return auditPage(look, viewer, { entries, query: exchange.query, next: page.next, nowMs });
      },
      deps,
    ),
    pageRoute(
      '/app/settings',
      {},
      async ({ request, viewer, nowMs }) => {
        const { session, workspace } = request;
        const [sessions, workspaces] = await Promise.all([
          accounts.sessionsOf(session.userId),
          accounts.workspacesOf(session.userId),
        ]);
        return settingsPage(look, viewer, {
          slug: workspace.slug,
          redactExcerpts: workspace.redactExcerpts,
          sessions: sessions.map((one) => ({ ...one, isThis: one.id === session.id })),
          workspaces,
          passwordCharsMin: PASSWORD_CHARS_MIN,
          nowMs,
        });
      },
      deps,
    ),
  ];
}
