/** The bodies of the rule routes. */
import { z } from 'zod';

import { CATEGORIES, RULE_STATUSES, SEVERITIES, SUPPORTS } from '../../../model/rules.ts';
import { SURFACES } from '../../../model/steps.ts';
import { component, count } from '../openapi/component.ts';

export const ruleId = z
  .string()
  .regex(/^ATR-\d{4}-\d{5}$/)
  .describe('Id of a rule of the corpus.');

export const snapshot = component(
  'Snapshot',
  z
    .object({
      version: z.string().describe('Version of the pinned corpus.'),
      date: z.iso.date().describe('Day of the snapshot.'),
      files: count('Rule files in it.'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .describe('Digest over the digests of all files.'),
    })
    .describe('The pinned corpus. It changes with a reviewed release only.'),
);

export const supportCounts = component(
  'SupportCounts',
  z
    .object({
      as_written: count('Rules that run as written.'),
      degraded: count('Rules that run on the conditions that this engine has.'),
      unsupported: count('Rules that cannot run here.'),
      fails_own_examples: count('Rules that fail their own examples, and so never run.'),
    })
    .describe('How many rules there are of each support.'),
);

const itemMembers = {
  id: ruleId,
  title: z.string(),
  severity: z.enum(SEVERITIES),
  version: z.string().describe('Version of the rule.'),
  status: z.enum(RULE_STATUSES).describe('Set by the corpus.'),
  category: z.enum(CATEGORIES),
  subcategory: z.string().nullable(),
  support: z.enum(SUPPORTS).describe('What this engine can do with the rule.'),
  enabled: z.boolean().describe('Does the rule run for this workspace?'),
  decided_by: z
    .enum(['support', 'own_examples', 'tier', 'override'])
    .describe('What decided that, in order of precedence.'),
};

export const ruleItem = component('RuleItem', z.object(itemMembers).describe('A rule in a list.'));

const unsupportedReason = component(
  'UnsupportedReason',
  z
    .object({ code: z.string(), message: z.string() })
    .describe('Why a condition, or a whole rule, cannot run on this engine.'),
);

const condition = component(
  'RuleCondition',
  z
    .object({
      index: count('Its place in the rule.'),
      field: z.string().describe('The rule field whose text it reads.'),
      surfaces: z.array(z.enum(SURFACES)).describe('The surfaces that the field names.'),
      operator: z.string(),
      pattern: z.string(),
      description: z.string().describe("The rule author's."),
      supported: z.boolean(),
      reason: unsupportedReason.nullable().describe('Null when it is supported.'),
    })
    .describe('One pattern condition of a rule.'),
);

const ownExamples = z
  .object({
    true_positives: count('Examples that the rule must match.'),
    true_negatives: count('Examples that it must not match.'),
    failed: z
      .array(
        z.object({
          kind: z.enum(['true_positive', 'true_negative']),
          index: count('Its place among its kind.'),
          why: z.string(),
        }),
      )
      .describe('Examples with which the rule fails here.'),
  })
  .describe('The cases that come with the rule, tried with this engine.');

export const rule = component(
  'Rule',
  z
    .object({
      ...itemMembers,
      description: z.string(),
      author: z.string(),
      date: z.string(),
      references: z.unknown().describe("The author's, as the rule file has them; null for none."),
      conditions: z.array(condition),
      condition: z.enum(['any', 'all']).describe('How many of its conditions must match.'),
      unsupported_reasons: z.array(unsupportedReason),
      own_examples: ownExamples,
      recommended_actions: z.array(z.string()).describe("The author's; never carried out."),
      override: z
        .boolean()
        .nullable()
        .describe("This workspace's switch for the rule; null when there is none."),
    })
    .describe('One rule in full.'),
);

export const rulePage = component(
  'RulePage',
  z
    .object({
      snapshot,
      experimental: z.boolean().describe('Is the experimental tier switched on?'),
      counts: supportCounts,
      page: z.int().min(1),
      per_page: z.int().min(1),
      total: count('Rules that match the filters.'),
      total_pages: count('Pages of `per_page` rules.'),
      rules: z.array(ruleItem),
    })
    .describe('A page of rules, with the live counts.'),
);

export const ruleSettings = component(
  'RuleSettings',
  z
    .object({
      experimental: z.boolean().describe('Is the experimental tier switched on?'),
      counts: supportCounts,
      snapshot,
    })
    .describe('What the workspace has decided, and the live counts.'),
);
