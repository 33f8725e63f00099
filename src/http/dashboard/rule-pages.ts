/**
 * The rules in the dashboard: their pages, and the switches, as forms and as JSON under `/app/api`.
 * Nothing else changes which rules run, and no API credential may.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import { RULE_PLANS } from '../../model/people.ts';
import { frameworkCoverage } from '../../model/references/coverage.ts';
import type { Rule, RuleRefusal, RuleSettings } from '../../model/rules.ts';
import { rulePage } from '../../web/app/rule.ts';
import { hasRulesTab } from '../../web/app/rule-counts.ts';
import { COVERAGE, coveragePage } from '../../web/app/rules/coverage.ts';
import { ruleFilters } from '../../web/app/rules/rule-filters.ts';
import { type DecidedRule, rulesPage, upgradePage } from '../../web/app/rules.ts';
import {
  noRule,
  type RuleReader,
  requireRule,
  rulesQuery,
  showRule,
  showSettings,
  toRulePage,
} from '../api/rules/rule-routes.ts';
import { ruleId } from '../api/rules/rule-schema.ts';
import { readForm, readJson } from '../transport/json-body.ts';
import { problem } from '../transport/problem.ts';
import { flag, parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes } from './dashboard.ts';
import { tierPreviewOf } from './preview-pages.ts';
import { ruleFactsOf } from './rule-facts.ts';
import { ADMINS, type Needs, type SignedInRequest, signedIn } from './sign-in/signed-in.ts';

export interface RulePageDependencies extends DashboardDependencies {
  readonly rules: RuleReader;
  readonly settings: Store['settings'];
  readonly previews: Store['previews'];
}

/** Settings that an earlier plan allowed stay in force; an owner can remove them on every plan. */
const TO_RESET: Needs = { roles: ['owner'] };
const TO_WRITE: Needs = { roles: ADMINS, plans: RULE_PLANS };
const LIST = '/app/rules';
const ONE = `${LIST}/{ruleId}`;
const API = '/app/api/atr';
/** Findings of so many days are counted (rule-record.ts). */
const RECORD_DAYS = 30;
const DAY_MS = 86_400_000;

/** The most rules that are left off with one form. */
const LEAVE_OFF_MAX = 50;
const tierForm = z.object({
  experimental: flag,
  leave_off: z
    .string()
    .optional()
    .transform((text) => (text ?? '').split(',').filter((id) => id !== ''))
    .pipe(z.array(ruleId).max(LEAVE_OFF_MAX)),
});
const overrideForm = z.object({
  enabled: z.enum(['true', 'false', 'null']).transform((text) => {
    return text === 'null' ? null : text === 'true';
  }),
});
const tierBody = z.strictObject({ experimental: z.boolean() });
const overrideBody = z.strictObject({ enabled: z.boolean().nullable() });

/**
 * Switches a rule on or off for the workspace, or removes its override: also of a rule that cannot
 * run, or that the snapshot does not have.
 *
 * @returns why the rule cannot be overridden; null when it was changed
 * @throws {SluiceError} `not_found` when the snapshot has no such rule, and there is no override
 */
async function overrideRule(
  { workspace, actor }: SignedInRequest,
  ruleId: string,
  enabled: boolean | null,
  { rules, settings }: RulePageDependencies,
): Promise<RuleRefusal | null> {
  const rule = rules.find(ruleId);
  if (rule === null) {
    const { overrides } = await rules.settings(workspace.id);
    if (enabled !== null || !overrides.has(ruleId)) throw noRule();
  } else if (enabled !== null) {
    const refused = rules.refusal(rule);
    if (refused !== null) return refused;
  }
  await settings.setOverride(workspace.id, ruleId, enabled, actor);
  return null;
}

function pages(deps: RulePageDependencies): Route[] {
  const { rules: book, previews, look } = deps;
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
      async ({ exchange, request, viewer, nowMs }) => {
        const settings = await book.settings(request.workspace.id);
        if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
        const records = await book.records(request.workspace.id);
        const query = parsePageQuery(rulesQuery, exchange.query);
        const found = toRulePage(query, settings, book, records);
        const last = await previews.latest(request.workspace.id, null);
        return rulesPage(look, viewer, {
          tier: tierPreviewOf(book, settings, last),
          ...ruleFactsOf(book, settings),
          rules: found.rules.map(({ id }) => decided(requireRule(book, id), settings)),
          records,
          query: exchange.query,
          page: found.page,
          pages: found.total_pages,
          total: found.total,
          nowMs,
        });
      },
      ruleFilters,
    ),
    page(COVERAGE, {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const settings = await book.settings(id);
      if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
      const frameworks = frameworkCoverage(book, settings, await book.records(id));
      const since = new Date(nowMs - RECORD_DAYS * DAY_MS)
        .toISOString()
        .slice(0, 'YYYY-MM-DD'.length);
      return coveragePage(look, viewer, { frameworks, since });
    }),
    page(ONE, {}, async ({ request, viewer, parameters, nowMs }) => {
      const settings = await book.settings(request.workspace.id);
      if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
      const rule = requireRule(book, parameters.ruleId);
      const last = await previews.latest(request.workspace.id, rule.id);
      const record = await book.record(request.workspace.id, rule.id);
      return rulePage(look, viewer, decided(rule, settings), { last, record, nowMs });
    }),
  ];
}

function forms(deps: RulePageDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form(LIST, TO_WRITE, async ({ exchange, request }) => {
      const { experimental, leave_off: leaveOff } = await readForm(exchange, tierForm);
      // First, so that no run is evaluated with them in between.
      for (const id of leaveOff) {
        const refused = await overrideRule(request, id, false, deps);
        if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
      }
      await deps.settings.setExperimental(request.workspace.id, experimental, request.actor);
      return LIST;
    }),
    form(`${LIST}/reset`, TO_RESET, async ({ request }) => {
      await deps.settings.resetRules(request.workspace.id, request.actor);
      return LIST;
    }),
    form(ONE, TO_WRITE, async ({ exchange, request, parameters: { ruleId = '' } }) => {
      const { enabled } = await readForm(exchange, overrideForm);
      const refused = await overrideRule(request, ruleId, enabled, deps);
      if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
      return deps.rules.find(ruleId) === null ? LIST : `${LIST}/${ruleId}`;
    }),
  ];
}

/** For programs with a session; they answer with the resulting state. */
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
          const { ruleId = '' } = parameters;
          const refused = await overrideRule(request, ruleId, enabled, deps);
          if (refused !== null) {
            const { reason, detail } = refused;
            return problem(new SluiceError('rule_refused', detail), { reason });
          }
          // Of a rule that the snapshot does not have, only the override could be removed.
          const show = deps.rules.find(ruleId) === null ? showTier : showOne;
          return await show(exchange, { workspaceId: request.workspace.id }, parameters);
        },
        deps,
      ),
    },
  ];
}

export function rulePages(deps: RulePageDependencies): Route[] {
  return [...pages(deps), ...forms(deps), ...jsonWrites(deps)];
}
