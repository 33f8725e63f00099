/** The rules in the read API: the list with the live counts, one rule, and the settings. */
import { z } from 'zod';
import { readRuleRecord, readRuleRecords } from '../../../db/findings/rule-record.ts';
import { readRuleSettings } from '../../../db/findings/rule-settings.ts';
import { SluiceError } from '../../../errors.ts';
import { NO_RECORD, type RuleRecord } from '../../../model/findings.ts';
import { REFERRING } from '../../../model/references/rule-references.ts';
import { inOrder, RULE_ORDERS, type RuleRecords } from '../../../model/rule-order.ts';
import {
  CATEGORIES,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  type Rule,
  type RuleBook,
  type RuleSettings,
  SUPPORTS,
} from '../../../model/rules.ts';
import { json } from '../../transport/answers.ts';
import { flag, parseQuery, wholeNumber } from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, bodyFrom } from '../openapi/component.ts';
import {
  type ApiSettings,
  badQuery,
  example,
  found,
  notFound,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { STORED_AT } from '../otlp/otlp-examples.ts';
import {
  reference,
  rule as ruleBody,
  ruleId,
  ruleItem,
  rulePage,
  ruleSettings,
} from './rule-schema.ts';

const PER_PAGE_DEFAULT = 50;
const PER_PAGE_MAX = 500;
const PAGE_MAX = 1_000_000;
const SEARCH_CHARS_MAX = 200;
/** Most overrides without effect that an answer or a page lists. */
export const ORPHANS_LISTED = 200;

export const rulesQuery = z.object({
  status: z.enum(RULE_STATUSES).optional().describe('Only rules of this status.'),
  support: z.enum(SUPPORTS).optional().describe('Only rules that this engine supports so.'),
  category: z.enum(CATEGORIES).optional().describe('Only rules of this category.'),
  enabled: flag
    .optional()
    .describe('`true`: only rules that run for this workspace; `false`: only the others.'),
  state: z.enum(RULE_STATES).optional().describe('Only rules in this state in this workspace.'),
  maturity: z.enum(MATURITIES).optional().describe('Only rules of this maturity.'),
  reference: reference.optional().describe(`Only rules ${REFERRING}`),
  q: z
    .string()
    .max(SEARCH_CHARS_MAX)
    .optional()
    .describe(
      'Every word must occur in id, title, category, subcategory, description or a reference id.',
    ),
  sort: z
    .enum(RULE_ORDERS)
    .default('id')
    .describe(
      '`noise`: most false positives first, by `wild_fp_rate`, then by how many of the harmless ' +
        'texts of its authors a rule matches, then by the lowest `confidence`. `wild_fp_rate`, `confidence` ' +
        '(lowest first), `findings`, `false_positives`, `last_seen` and `matcher_time` sort by that member.',
    ),
  page: wholeNumber(1, PAGE_MAX, 1).describe('The page to show; a page past the last is empty.'),
  per_page: wholeNumber(1, PER_PAGE_MAX, PER_PAGE_DEFAULT).describe('Rules on a page.'),
});
type RulesQuery = z.infer<typeof rulesQuery>;

const itemFacts = (
  rule: Rule,
  settings: RuleSettings,
  { decide, references }: RuleBook,
  record: RuleRecord = NO_RECORD,
) => ({
  ...rule,
  ...rule.quality,
  ...record,
  ...decide(rule, settings),
  referenceIds: references.idsOf(rule.id),
  recentFindings: record.findings,
  recentFalsePositives: record.falsePositives,
  falsePositives: rule.quality.falsePositives,
});

/** Checks whether every word occurs in one of the rule's texts, its reference ids included. */
function matchesText(rule: Rule, references: readonly string[], words: readonly string[]): boolean {
  const { id, title, category, subcategory, description } = rule;
  const text = [id, title, category, subcategory ?? '', description, ...references]
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function toRulePage(
  query: RulesQuery,
  settings: RuleSettings,
  book: RuleBook,
  records: RuleRecords = new Map(),
): BodyOf<typeof rulePage> {
  const { reference } = query;
  const referring = reference === undefined ? null : new Set(book.references.rulesOf(reference));
  const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const found = inOrder(book.rules, query.sort, records)
    .filter(
      (rule) =>
        (query.status === undefined || rule.status === query.status) &&
        (query.support === undefined || rule.support === query.support) &&
        (query.category === undefined || rule.category === query.category) &&
        (query.maturity === undefined || rule.quality.maturity === query.maturity) &&
        (referring === null || referring.has(rule.id)) &&
        matchesText(rule, book.references.idsOf(rule.id), words),
    )
    .map((rule) => bodyFrom(ruleItem, itemFacts(rule, settings, book, records.get(rule.id))))
    .filter(
      ({ enabled, state }) =>
        (query.enabled === undefined || enabled === query.enabled) &&
        (query.state === undefined || state === query.state),
    );
  const first = (query.page - 1) * query.per_page;
  return {
    snapshot: book.snapshot,
    experimental: settings.experimental,
    counts: book.countStates(settings),
    corpus_counts: book.counts,
    page: query.page,
    per_page: query.per_page,
    total: found.length,
    total_pages: Math.ceil(found.length / query.per_page),
    rules: found.slice(first, first + query.per_page),
  };
}

export const noRule = () => new SluiceError('not_found', 'The corpus has no such rule.');

/** @throws {SluiceError} `not_found` when the snapshot has no such rule */
export function requireRule(book: RuleBook, ruleId = ''): Rule {
  const rule = book.find(ruleId);
  if (rule === null) throw noRule();
  return rule;
}

export function toRule(
  rule: Rule,
  settings: RuleSettings,
  book: RuleBook,
  record?: RuleRecord,
): BodyOf<typeof ruleBody> {
  return bodyFrom(ruleBody, {
    ...itemFacts(rule, settings, book, record),
    ownExamples: {
      true_positives: rule.ownExamples.truePositives,
      true_negatives: rule.ownExamples.trueNegatives,
      failed: rule.ownExamples.failed,
      tested: rule.support !== 'unsupported',
    },
    override: settings.overrides.get(rule.id) ?? null,
  });
}

export function toRuleSettings(
  settings: RuleSettings,
  { counts, snapshot, countStates, orphans }: RuleBook,
): BodyOf<typeof ruleSettings> {
  return {
    experimental: settings.experimental,
    counts: countStates(settings),
    corpus_counts: counts,
    overrides: settings.overrides.size,
    orphaned_overrides: orphans(settings)
      .slice(0, ORPHANS_LISTED)
      .map(({ ruleId, ...orphan }) => ({ rule_id: ruleId, ...orphan })),
    snapshot,
  };
}

export function listRules({ db, rules }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(rulesQuery, exchange.query);
    const settings = await db.readFresh(readRuleSettings, workspaceId);
    const records = await db.read(readRuleRecords, workspaceId);
    return json(toRulePage(query, settings, rules, records));
  };
}

export function showRule({ db, rules }: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { ruleId }) => {
    const rule = requireRule(rules, ruleId);
    const settings = await db.readFresh(readRuleSettings, workspaceId);
    const record = await db.read(readRuleRecord, workspaceId, rule.id);
    return json(toRule(rule, settings, rules, record));
  };
}

export function showSettings({ db, rules }: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }) =>
    json(toRuleSettings(await db.readFresh(readRuleSettings, workspaceId), rules));
}

const TAG = 'Threat rules';
/** Shown when no rule of the corpus runs. */
const RULE_ID = 'ATR-2026-00001';
const NO_DECISIONS: RuleSettings = { experimental: false, overrides: new Map() };

/** Of the rule that finds the attack in the example of the ingest. */
const RECORD: RuleRecord = { ...NO_RECORD, findings: 1, lastSeenAt: STORED_AT };

const chars = (rule: Rule): number => JSON.stringify(rule).length;

function shortRule({ rules, decide }: RuleBook): Rule | undefined {
  return rules
    .filter((rule) => decide(rule, NO_DECISIONS).enabled)
    .reduce<Rule | undefined>(
      (best, rule) => (best === undefined || chars(rule) < chars(best) ? rule : best),
      undefined,
    );
}

export const RULES_EXAMPLE_QUERY = 'enabled=true&per_page=2';

function ruleExamples({ book }: ApiSettings) {
  const parsed = Object.fromEntries(new URLSearchParams(RULES_EXAMPLE_QUERY));
  const records = new Map([[RULE_ID, RECORD]]);
  const page = toRulePage(rulesQuery.parse(parsed), NO_DECISIONS, book, records);
  const rule = shortRule(book);
  return {
    ruleId: rule?.id ?? RULE_ID,
    list: [example('enabled_rules', `Answer to \`?${RULES_EXAMPLE_QUERY}\`.`, page)],
    one:
      rule === undefined
        ? []
        : [example('rule', 'A rule of the loaded corpus.', toRule(rule, NO_DECISIONS, book))],
    settings: [
      example('settings', 'The settings of a new workspace.', toRuleSettings(NO_DECISIONS, book)),
    ],
  };
}

export function ruleOperations(settings: ApiSettings): Operation[] {
  const examples = ruleExamples(settings);
  return [
    {
      ...READ,
      path: '/platform/v1/atr/rules',
      operationId: 'listRules',
      tag: TAG,
      summary: 'List the rules of the corpus',
      description:
        'Every rule, whether the engine supports it, and whether it runs in this workspace. `counts` ' +
        'are of this workspace at the time of the request; `corpus_counts` are of the corpus, the ' +
        'same for every workspace. Rules are switched on and off in the dashboard only.',
      query: rulesQuery,
      queryExamples: {
        status: 'stable',
        support: 'as_written',
        category: 'prompt-injection',
        enabled: 'true',
        state: 'as_written',
        maturity: 'stable',
        reference: 'AML.T0051',
        sort: 'noise',
        q: 'credential',
        page: '1',
        per_page: '2',
      },
      responses: {
        ...found('A page of rules.', rulePage, examples.list),
        ...READ_REFUSALS,
        ...badQuery('per_page', 'must be a whole number from 1 to 500, in digits'),
      },
    },
    {
      ...READ,
      path: '/platform/v1/atr/rules/{ruleId}',
      operationId: 'getRule',
      tag: TAG,
      summary: 'Read one rule in full',
      description: 'One rule with its conditions. A condition that cannot run has a reason.',
      parameters: [
        {
          name: 'ruleId',
          in: 'path',
          description: 'Id of a rule of the corpus.',
          schema: ruleId,
          example: examples.ruleId,
        },
      ],
      responses: {
        ...found('The rule.', ruleBody, examples.one),
        ...notFound('The corpus has no such rule.'),
        ...READ_REFUSALS,
      },
    },
    {
      ...READ,
      path: '/platform/v1/atr/settings',
      operationId: 'getRuleSettings',
      tag: TAG,
      summary: 'Read the rule settings',
      description:
        'The state of the experimental tier, `counts` of this workspace at the time of the request, ' +
        '`corpus_counts` of the corpus, and overrides that have no effect.',
      responses: {
        ...found('The settings.', ruleSettings, examples.settings),
        ...READ_REFUSALS,
      },
    },
  ];
}
