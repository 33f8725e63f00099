/**
 * The rules in the dashboard: their pages, and the switches, as forms and as JSON under `/app/api`.
 * Nothing else changes which rules run, and no API credential may.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import type { Plan, SessionWorkspace } from '../../model/people.ts';
import type { Rule, RuleSettings } from '../../model/rules.ts';
import { rulePage } from '../../web/app/rule.ts';
import { type DecidedRule, ruleFilters, rulesPage, upgradePage } from '../../web/app/rules.ts';
import {
  type RuleReader,
  rulesQuery,
  showRule,
  showSettings,
  toRulePage,
} from '../api/rules/rule-routes.ts';
import { readForm, readJson } from '../transport/json-body.ts';
import { problem } from '../transport/problem.ts';
import { flag, parseQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes } from './dashboard.ts';
import { ADMINS, type Needs, type SignedInRequest, signedIn } from './sign-in/signed-in.ts';

export interface RulePageDependencies extends DashboardDependencies {
  readonly rules: RuleReader;
  readonly settings: Store['settings'];
}

/** Plans whose workspaces have the threat-rules tab. */
const RULE_PLANS: readonly Plan[] = ['team', 'enterprise'];
const TO_WRITE: Needs = { roles: ADMINS, plans: RULE_PLANS };
const LIST = '/app/rules';
const ONE = `${LIST}/{ruleId}`;
const API = '/app/api/atr';

const tierForm = z.object({ experimental: flag });
const overrideForm = z.object({
  enabled: z.enum(['true', 'false', 'null']).transform((text) => {
    return text === 'null' ? null : text === 'true';
  }),
});
const tierBody = z.strictObject({ experimental: z.boolean() });
const overrideBody = z.strictObject({ enabled: z.boolean().nullable() });

const hasRules = ({ plan }: SessionWorkspace): boolean => RULE_PLANS.includes(plan);

function ruleOf({ rules }: RuleReader, id: string | undefined): Rule {
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined) throw new SluiceError('not_found', 'The snapshot has no such rule.');
  return rule;
}

/**
 * Switches a rule on or off for the workspace, or back to its tier.
 *
 * @returns why the rule may not be switched on; null when it was switched
 */
async function switchRule(
  { workspace, actor }: SignedInRequest,
  rule: Rule,
  enabled: boolean | null,
  { rules, settings }: RulePageDependencies,
): Promise<{ readonly reason: string; readonly detail: string } | null> {
  const refused = enabled === true ? rules.refusal(rule) : null;
  if (refused === null) await settings.setOverride(workspace.id, rule.id, enabled, actor);
  return refused;
}

function pages(deps: RulePageDependencies): Route[] {
  const { rules: book, look } = deps;
  const page = pageRoutes(deps);
  const decided = (rule: Rule, settings: RuleSettings): DecidedRule => ({
    rule,
    ...book.decide(rule, settings),
    override: settings.overrides.get(rule.id) ?? null,
  });
  return [
    page(
      LIST,
      {},
      async ({ exchange, request, viewer }) => {
        if (!hasRules(request.workspace)) return upgradePage(look, viewer);
        const settings = await book.settings(request.workspace.id);
        const found = toRulePage(parseQuery(rulesQuery, exchange.query), settings, book);
        return rulesPage(look, viewer, {
          snapshot: book.snapshot,
          counts: book.counts,
          experimental: settings.experimental,
          rules: found.rules.map(({ id }) => decided(ruleOf(book, id), settings)),
          query: exchange.query,
          page: found.page,
          pages: found.total_pages,
          total: found.total,
        });
      },
      ruleFilters,
    ),
    page(ONE, {}, async ({ request, viewer, parameters }) => {
      if (!hasRules(request.workspace)) return upgradePage(look, viewer);
      const rule = ruleOf(book, parameters.ruleId);
      return rulePage(look, viewer, decided(rule, await book.settings(request.workspace.id)));
    }),
  ];
}

function forms(deps: RulePageDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form(LIST, TO_WRITE, async ({ exchange, request }) => {
      const { experimental } = await readForm(exchange, tierForm);
      await deps.settings.setExperimental(request.workspace.id, experimental, request.actor);
      return LIST;
    }),
    form(ONE, TO_WRITE, async ({ exchange, request, parameters }) => {
      const { enabled } = await readForm(exchange, overrideForm);
      const rule = ruleOf(deps.rules, parameters.ruleId);
      const refused = await switchRule(request, rule, enabled, deps);
      if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
      return `${LIST}/${rule.id}`;
    }),
  ];
}

/** For programs with a session; they answer with what is so afterwards. */
function jsonWrites(deps: RulePageDependencies): Route[] {
  const showTier = showSettings(deps.rules);
  const showOne = showRule(deps.rules);
  return [
    {
      method: 'PUT',
      path: `${API}/settings`,
      handler: signedIn(
        TO_WRITE,
        async (exchange, { workspace, actor }, parameters) => {
          const { experimental } = await readJson(exchange, tierBody);
          await deps.settings.setExperimental(workspace.id, experimental, actor);
          return await showTier(exchange, { workspaceId: workspace.id }, parameters);
        },
        deps,
      ),
    },
    {
      method: 'PUT',
      path: `${API}/rules/{ruleId}`,
      handler: signedIn(
        TO_WRITE,
        async (exchange, request, parameters) => {
          const { enabled } = await readJson(exchange, overrideBody);
          const rule = ruleOf(deps.rules, parameters.ruleId);
          const refused = await switchRule(request, rule, enabled, deps);
          if (refused !== null) {
            const { reason, detail } = refused;
            return problem(new SluiceError('rule_refused', detail), { reason });
          }
          return await showOne(exchange, { workspaceId: request.workspace.id }, parameters);
        },
        deps,
      ),
    },
  ];
}

export function rulePages(deps: RulePageDependencies): Route[] {
  return [...pages(deps), ...forms(deps), ...jsonWrites(deps)];
}
