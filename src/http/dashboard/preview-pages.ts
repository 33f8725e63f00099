/** Previews of rules in the dashboard: their pages, and the forms that start and cancel one. */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import { RULE_PLANS } from '../../model/people.ts';
import {
  noisyRules,
  PREVIEW_DAYS_DEFAULT,
  PREVIEW_DAYS_MAX,
  type Preview,
  tierRules,
} from '../../model/previews.ts';
import type { RuleBook, RuleSettings } from '../../model/rules.ts';
import { COMPARE, compareForm, comparePage } from '../../web/app/previews/compare.ts';
import { PREVIEWS, previewPage, previewsPage } from '../../web/app/previews/previews.ts';
import type { TierPreview } from '../../web/app/previews/tier-preview.ts';
import { hasRulesTab } from '../../web/app/rule-counts.ts';
import { upgradePage } from '../../web/app/rules.ts';
import { type RuleReader, requireRule } from '../api/rules/rule-routes.ts';
import { readForm } from '../transport/json-body.ts';
import { hexId, idOf, parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes } from './dashboard.ts';
import { ruleFactsOf } from './rule-facts.ts';
import { ADMINS, type Needs } from './sign-in/signed-in.ts';

export interface PreviewPageDependencies extends DashboardDependencies {
  readonly rules: RuleReader;
  readonly previews: Store['previews'];
}

const TO_WRITE: Needs = { roles: ADMINS, plans: RULE_PLANS };
const ONE = `${PREVIEWS}/{previewId}`;

const isDone = ({ state }: Preview): boolean => state === 'done';
const compareQuery = z.object({ a: hexId.optional(), b: hexId.optional() });
const startForm = z.object({
  rule_id: z.string().optional(),
  days: z.coerce.number().int().min(1).max(PREVIEW_DAYS_MAX).default(PREVIEW_DAYS_DEFAULT),
});

/** The counts that a workspace sees before it switches the experimental tier on. */
export function tierPreviewOf(
  book: RuleBook,
  settings: RuleSettings,
  last: Preview | null,
): TierPreview {
  const rules = tierRules(book, settings);
  const noisy = noisyRules(rules, last).map((one) => {
    return { ...one, title: book.titleOf(one.ruleId) };
  });
  return { last, noisy };
}

/** The rules that a form asks for. @throws {SluiceError} when a rule cannot run */
async function wantedRules(
  book: RuleReader,
  workspaceId: number,
  ruleId: string | undefined,
): Promise<readonly string[]> {
  if (ruleId === undefined) {
    return tierRules(book, await book.settings(workspaceId)).map(({ id }) => id);
  }
  const refused = book.refusal(requireRule(book, ruleId));
  if (refused !== null) throw new SluiceError('rule_refused', refused.detail);
  return [ruleId];
}

export function previewPages(deps: PreviewPageDependencies): Route[] {
  const { rules: book, previews, look } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  const findRule = book.find;
  const find = async (workspaceId: number, parameter: string | undefined) => {
    const id = idOf(parameter);
    const preview = id === null ? null : await previews.find(workspaceId, id);
    if (preview === null) throw new SluiceError('not_found', 'There is no such preview.');
    return preview;
  };
  return [
    page(PREVIEWS, {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      if (!hasRulesTab(viewer)) {
        return upgradePage(look, viewer, ruleFactsOf(book, await book.settings(id)));
      }
      const all = await previews.list(id);
      const compare = compareForm(all.filter(isDone), findRule);
      return previewsPage(look, viewer, all, { findRule, nowMs, compare });
    }),
    page(COMPARE, {}, async ({ exchange, request, viewer, nowMs }) => {
      const { id } = request.workspace;
      if (!hasRulesTab(viewer)) {
        return upgradePage(look, viewer, ruleFactsOf(book, await book.settings(id)));
      }
      const { a, b } = parsePageQuery(compareQuery, exchange.query);
      const done = (await previews.list(id)).filter(isDone);
      const chosen =
        a === undefined || b === undefined ? null : { a: await find(id, a), b: await find(id, b) };
      return comparePage(look, viewer, { previews: done, chosen, findRule, nowMs });
    }),
    page(ONE, {}, async ({ request, viewer, parameters, nowMs }) => {
      const { id } = request.workspace;
      const preview = await find(id, parameters.previewId);
      if (!hasRulesTab(viewer)) {
        return upgradePage(look, viewer, ruleFactsOf(book, await book.settings(id)));
      }
      return previewPage(look, viewer, preview, { findRule, nowMs });
    }),
    form(PREVIEWS, TO_WRITE, async ({ exchange, request: { workspace, actor } }) => {
      const { rule_id: ruleId, days } = await readForm(exchange, startForm);
      const ruleIds = await wantedRules(book, workspace.id, ruleId);
      const kind = ruleId === undefined ? 'experimental' : 'rule';
      const wanted = { kind, ruleIds, days, snapshot: book.snapshot } as const;
      return `${PREVIEWS}/${await previews.start(workspace.id, wanted, actor)}`;
    }),
    form(`${ONE}/cancel`, TO_WRITE, async ({ request: { workspace, actor }, parameters }) => {
      const { id } = await find(workspace.id, parameters.previewId);
      await previews.cancel(workspace.id, id, actor);
      return `${PREVIEWS}/${id}`;
    }),
  ];
}
