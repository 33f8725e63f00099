/**
 * The rules in `/openapi.json`. The examples are made by the functions that answer, from the loaded
 * corpus.
 */
import { NO_RECORD, type RuleRecord } from '../../../model/findings.ts';
import type { Rule, RuleBook, RuleSettings } from '../../../model/rules.ts';
import type { ApiSettings, Operation } from '../openapi/operation.ts';
import {
  badQuery,
  example,
  found,
  notFound,
  READ,
  READ_REFUSALS,
} from '../openapi/shared-answers.ts';
import { STORED_AT } from '../otlp/otlp-examples.ts';
import { rulesQuery, toRule, toRulePage, toRuleSettings } from './rule-routes.ts';
import { rule, ruleId, rulePage, ruleSettings } from './rule-schema.ts';

const TAG = 'Threat rules';
/** Shown when no rule of the corpus runs. */
const RULE_ID = 'ATR-2026-00001';
/** The settings of a new workspace. */
const NO_DECISIONS: RuleSettings = { experimental: false, overrides: new Map() };

/** Of the rule that finds the attack in the example of the ingest. */
const RECORD: RuleRecord = { ...NO_RECORD, findings: 1, lastSeenAt: STORED_AT };

const chars = (rule: Rule): number => JSON.stringify(rule).length;

/** The shortest rule that runs. */
function shortRule({ rules, decide }: RuleBook): Rule | undefined {
  return rules
    .filter((rule) => decide(rule, NO_DECISIONS).enabled)
    .reduce<Rule | undefined>(
      (best, rule) => (best === undefined || chars(rule) < chars(best) ? rule : best),
      undefined,
    );
}

/** The query that the list's example answers. */
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
        ...found('The rule.', rule, examples.one),
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
