/** Reading the rules: the list with the live counts, one rule in full, the settings. */
import { z } from 'zod';

import { SluiceError } from '../errors.ts';
import {
  CATEGORIES,
  type DecidedBy,
  RULE_STATUSES,
  type Rule,
  type RuleSettings,
  type Snapshot,
  SUPPORTS,
  type SupportCounts,
} from '../model.ts';
import type { AuthorizedHandler } from './authorized.ts';
import { json } from './problem.ts';
import { parseQuery, wholeNumber } from './query.ts';

/** What reading the rules asks of the rest. */
export interface RuleReader {
  readonly snapshot: Snapshot;
  readonly rules: readonly Rule[];
  readonly counts: SupportCounts;
  readonly settings: (workspaceId: number) => Promise<RuleSettings>;
  readonly decide: (
    rule: Rule,
    settings: RuleSettings,
  ) => { readonly enabled: boolean; readonly decidedBy: DecidedBy };
}

const PER_PAGE_DEFAULT = 50;
const PER_PAGE_MAX = 500;
const PAGE_MAX = 1_000_000;
const SEARCH_CHARS_MAX = 200;

const listQuery = z.object({
  status: z.enum(RULE_STATUSES).optional(),
  support: z.enum(SUPPORTS).optional(),
  category: z.enum(CATEGORIES).optional(),
  enabled: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  q: z.string().max(SEARCH_CHARS_MAX).optional(),
  page: wholeNumber(1, PAGE_MAX, 1),
  per_page: wholeNumber(1, PER_PAGE_MAX, PER_PAGE_DEFAULT),
});

function toItem(rule: Rule, settings: RuleSettings, reader: RuleReader) {
  const { enabled, decidedBy } = reader.decide(rule, settings);
  return {
    id: rule.id,
    title: rule.title,
    severity: rule.severity,
    version: rule.version,
    status: rule.status,
    category: rule.category,
    subcategory: rule.subcategory,
    support: rule.support,
    enabled,
    decided_by: decidedBy,
  };
}

/** Free text: every word must occur in id, title, category, subcategory or description. */
function matchesText(rule: Rule, words: readonly string[]): boolean {
  const text = [rule.id, rule.title, rule.category, rule.subcategory ?? '', rule.description]
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** `GET /platform/v1/atr/rules` */
export function listRules(reader: RuleReader): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(listQuery, exchange.query);
    const settings = await reader.settings(workspaceId);
    const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const found = reader.rules
      .filter(
        (rule) =>
          (query.status === undefined || rule.status === query.status) &&
          (query.support === undefined || rule.support === query.support) &&
          (query.category === undefined || rule.category === query.category) &&
          matchesText(rule, words),
      )
      .map((rule) => toItem(rule, settings, reader))
      .filter(({ enabled }) => query.enabled === undefined || enabled === query.enabled);
    const first = (query.page - 1) * query.per_page;
    return json({
      snapshot: reader.snapshot,
      experimental: settings.experimental,
      counts: reader.counts,
      page: query.page,
      per_page: query.per_page,
      total: found.length,
      total_pages: Math.ceil(found.length / query.per_page),
      rules: found.slice(first, first + query.per_page),
    });
  };
}

/** `GET /platform/v1/atr/rules/{ruleId}` */
export function showRule(reader: RuleReader): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { ruleId }) => {
    const rule = reader.rules.find(({ id }) => id === ruleId);
    if (rule === undefined) throw new SluiceError('not_found', 'The snapshot has no such rule.');
    const settings = await reader.settings(workspaceId);
    return json({
      ...toItem(rule, settings, reader),
      description: rule.description,
      author: rule.author,
      date: rule.date,
      references: rule.references,
      conditions: rule.conditions,
      condition: rule.condition,
      unsupported_reasons: rule.unsupportedReasons,
      own_examples: {
        true_positives: rule.ownExamples.truePositives,
        true_negatives: rule.ownExamples.trueNegatives,
        failed: rule.ownExamples.failed,
      },
      recommended_actions: rule.recommendedActions,
      override: settings.overrides.get(rule.id) ?? null,
    });
  };
}

/** `GET /platform/v1/atr/settings` */
export function showSettings(reader: RuleReader): AuthorizedHandler {
  return async (_exchange, { workspaceId }) => {
    const { experimental } = await reader.settings(workspaceId);
    return json({ experimental, counts: reader.counts, snapshot: reader.snapshot });
  };
}
