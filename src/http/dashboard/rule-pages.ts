/**
 * The rules in the dashboard: their pages, the switches, as forms and as JSON under `/app/api`, and previews.
 * Nothing else changes which rules run, and no API credential may.
 */
import { z } from 'zod';
import { readRuleRecord, readRuleRecords } from '../../db/findings/rule-record.ts';
import {
  readRuleSettings,
  resetRules,
  setExperimental,
  setOverride,
} from '../../db/findings/rule-settings.ts';
import {
  cancelPreview,
  findPreview,
  latestPreview,
  listPreviews,
  startPreview,
} from '../../db/previews/previews.ts';
import { SluiceError } from '../../errors.ts';
import { RULE_PLANS } from '../../model/people.ts';
import {
  isOpen,
  LEAVE_OFF_MAX,
  noisyRules,
  PREVIEW_DAYS_DEFAULT,
  PREVIEW_DAYS_MAX,
  type Preview,
  tierRules,
} from '../../model/previews.ts';
import { frameworkCoverage } from '../../model/references/coverage.ts';
import type { Rule, RuleBook, RuleRefusal, RuleSettings } from '../../model/rules.ts';
import { COMPARE, compareForm, comparePage } from '../../web/app/previews/compare.ts';
import {
  PREVIEWS,
  previewPage,
  previewsPage,
  type TierPreview,
} from '../../web/app/previews/previews.ts';
import { rulePage } from '../../web/app/rule.ts';
import { hasRulesTab, type RuleFacts } from '../../web/app/rule-counts.ts';
import { COVERAGE, coveragePage } from '../../web/app/rules/coverage.ts';
import { type DecidedRule, ruleFilters, rulesPage, upgradePage } from '../../web/app/rules.ts';
import type { Viewer } from '../../web/app/shell.ts';
import {
  noRule,
  ORPHANS_LISTED,
  requireRule,
  rulesQuery,
  showRule,
  showSettings,
  toRulePage,
} from '../api/rules/rule-routes.ts';
import { ruleId } from '../api/rules/rule-schema.ts';
import { problem } from '../transport/answers.ts';
import { flag, hexId, idOf, parsePageQuery, readForm, readJson } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, formRoutes, pageRoutes, WITH_QUERY } from './dashboard.ts';
import { ADMINS, type Needs, type SignedInRequest, signedIn } from './sign-in/signed-in.ts';

/** Settings that an earlier plan allowed stay in force; an owner can remove them on every plan. */
const TO_RESET: Needs = { roles: ['owner'] };
const TO_WRITE: Needs = { roles: ADMINS, plans: RULE_PLANS };
const LIST = '/app/rules';
const ONE = `${LIST}/{ruleId}`;
const API = '/app/api/atr';
const RECORD_DAYS = 30;
const DAY_MS = 86_400_000;

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

/** @returns why the rule cannot be overridden; null when it was changed */
async function overrideRule(
  { workspace, actor }: SignedInRequest,
  ruleId: string,
  enabled: boolean | null,
  { rules, db }: AppDependencies,
): Promise<RuleRefusal | null> {
  const rule = rules.find(ruleId);
  if (rule === null) {
    const { overrides } = await db.readFresh(readRuleSettings, workspace.id);
    if (enabled !== null || !overrides.has(ruleId)) throw noRule();
  } else if (enabled !== null) {
    const refused = rules.refusal(rule);
    if (refused !== null) return refused;
  }
  await db.write(setOverride, workspace.id, ruleId, enabled, actor);
  return null;
}

function pages(deps: AppDependencies): Route[] {
  const { rules: book, db, look } = deps;
  const page = pageRoutes(deps);
  const decided = (rule: Rule, settings: RuleSettings): DecidedRule => ({
    rule,
    ...book.decide(rule, settings),
    override: settings.overrides.get(rule.id) ?? null,
  });
  return [
    page(
      LIST,
      WITH_QUERY,
      async ({ exchange, request, viewer, nowMs }) => {
        const query = parsePageQuery(rulesQuery, exchange.query);
        const { id } = request.workspace;
        const settings = await db.readFresh(readRuleSettings, id);
        if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
        const records = await db.read(readRuleRecords, id);
        const found = toRulePage(query, settings, book, records);
        const last = await db.readFresh(latestPreview, id, null);
        const previews = await db.readFresh(listPreviews, id);
        return rulesPage(look, viewer, {
          tier: tierPreviewOf(book, settings, last, previews.find(isOpen) ?? null),
          ...ruleFactsOf(book, settings),
          rules: found.rules.map((one) => decided(requireRule(book, one.id), settings)),
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
      const settings = await db.readFresh(readRuleSettings, id);
      if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
      const records = await db.read(readRuleRecords, id);
      const frameworks = frameworkCoverage(book, settings, records);
      const since = new Date(nowMs - RECORD_DAYS * DAY_MS)
        .toISOString()
        .slice(0, 'YYYY-MM-DD'.length);
      return coveragePage(look, viewer, { frameworks, since });
    }),
    page(ONE, {}, async ({ request, viewer, parameters, nowMs }) => {
      const { id } = request.workspace;
      const settings = await db.readFresh(readRuleSettings, id);
      if (!hasRulesTab(viewer)) return upgradePage(look, viewer, ruleFactsOf(book, settings));
      const rule = requireRule(book, parameters.ruleId);
      const last = await db.readFresh(latestPreview, id, rule.id);
      const record = await db.read(readRuleRecord, id, rule.id);
      return rulePage(look, viewer, decided(rule, settings), { last, record, nowMs });
    }),
  ];
}

function forms(deps: AppDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form(LIST, TO_WRITE, async ({ exchange, request }) => {
      const { experimental, leave_off: leaveOff } = await readForm(exchange, tierForm);
      // First, so that no run is evaluated with them in between.
      for (const id of leaveOff) {
        const refused = await overrideRule(request, id, false, deps);
        if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
      }
      const { workspace, actor } = request;
      await deps.db.write(setExperimental, workspace.id, experimental, actor);
      return LIST;
    }),
    form(`${LIST}/reset`, TO_RESET, async ({ request }) => {
      await deps.db.write(resetRules, request.workspace.id, request.actor);
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
function jsonWrites(deps: AppDependencies): Route[] {
  const showTier = showSettings(deps);
  const showOne = showRule(deps);
  return [
    {
      method: 'PUT',
      path: `${API}/settings`,
      handler: signedIn(
        TO_WRITE,
        async (exchange, { workspace, actor }, parameters) => {
          const { experimental } = await readJson(exchange, tierBody);
          await deps.db.write(setExperimental, workspace.id, experimental, actor);
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

export function rulePages(deps: AppDependencies): Route[] {
  return [...pages(deps), ...forms(deps), ...jsonWrites(deps)];
}

const PREVIEW = `${PREVIEWS}/{previewId}`;

const isDone = ({ state }: Preview): boolean => state === 'done';
const compareQuery = z.object({ a: hexId.optional(), b: hexId.optional() });
const startForm = z.object({
  rule_id: z.string().optional(),
  days: z.coerce.number().int().min(1).max(PREVIEW_DAYS_MAX).default(PREVIEW_DAYS_DEFAULT),
});

/** The counts that a workspace sees before it switches the experimental tier on. */
function tierPreviewOf(
  book: RuleBook,
  settings: RuleSettings,
  latest: Preview | null,
  open: Preview | null,
): TierPreview {
  const last = latest?.corpusIdentity === book.snapshot.identity ? latest : null;
  const noisy = noisyRules(tierRules(book, settings), last).map((one) => {
    return { ...one, title: book.titleOf(one.ruleId) };
  });
  return { last, open, noisy };
}

/** The rules that a form asks for. @throws {SluiceError} when a rule cannot run */
async function wantedRules(
  { db, rules: book }: AppDependencies,
  workspaceId: number,
  ruleId: string | undefined,
): Promise<readonly string[]> {
  if (ruleId === undefined) {
    const settings = await db.readFresh(readRuleSettings, workspaceId);
    return tierRules(book, settings).map(({ id }) => id);
  }
  const refused = book.refusal(requireRule(book, ruleId));
  if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
  return [ruleId];
}

export function previewPages(deps: AppDependencies): Route[] {
  const { rules: book, db, look } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  const findRule = book.find;
  const find = async (workspaceId: number, parameter: string | undefined) => {
    const id = idOf(parameter);
    const preview = id === null ? null : await db.readFresh(findPreview, workspaceId, id);
    if (preview === null) throw new SluiceError('not_found', 'There is no such preview.');
    return preview;
  };
  const upgrade = async (viewer: Viewer, id: number) =>
    upgradePage(look, viewer, ruleFactsOf(book, await db.readFresh(readRuleSettings, id)));
  return [
    page(PREVIEWS, {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      if (!hasRulesTab(viewer)) return await upgrade(viewer, id);
      const all = await db.readFresh(listPreviews, id);
      const compare = compareForm(all.filter(isDone), findRule);
      return previewsPage(look, viewer, all, { findRule, nowMs, compare });
    }),
    page(COMPARE, WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const { id } = request.workspace;
      if (!hasRulesTab(viewer)) return await upgrade(viewer, id);
      const { a, b } = parsePageQuery(compareQuery, exchange.query);
      const done = (await db.readFresh(listPreviews, id)).filter(isDone);
      const chosen =
        a === undefined || b === undefined ? null : { a: await find(id, a), b: await find(id, b) };
      return comparePage(look, viewer, { previews: done, chosen, findRule, nowMs });
    }),
    page(PREVIEW, {}, async ({ request, viewer, parameters, nowMs }) => {
      const { id } = request.workspace;
      const preview = await find(id, parameters.previewId);
      if (!hasRulesTab(viewer)) return await upgrade(viewer, id);
      return previewPage(look, viewer, preview, { findRule, nowMs });
    }),
    form(PREVIEWS, TO_WRITE, async ({ exchange, request: { workspace, actor } }) => {
      const { rule_id: ruleId, days } = await readForm(exchange, startForm);
      const ruleIds = await wantedRules(deps, workspace.id, ruleId);
      const kind = ruleId === undefined ? 'experimental' : 'rule';
      const wanted = { kind, ruleIds, days, snapshot: book.snapshot } as const;
      return `${PREVIEWS}/${await db.write(startPreview, workspace.id, wanted, actor)}`;
    }),
    form(`${PREVIEW}/cancel`, TO_WRITE, async ({ request: { workspace, actor }, parameters }) => {
      const { id } = await find(workspace.id, parameters.previewId);
      await db.write(cancelPreview, workspace.id, id, actor);
      return `${PREVIEWS}/${id}`;
    }),
  ];
}

export function ruleFactsOf(
  { snapshot, counts, countStates, orphans }: RuleBook,
  settings: RuleSettings,
): RuleFacts {
  const { experimental, overrides } = settings;
  return {
    snapshot,
    corpus: counts,
    states: countStates(settings),
    experimental,
    overrides: overrides.size,
    orphans: orphans(settings).slice(0, ORPHANS_LISTED),
  };
}
