/** The bodies of the rule routes. */
import { z } from 'zod';

import {
  CATEGORIES,
  RULE_STATES,
  RULE_STATUSES,
  SEVERITIES,
  SUPPORTS,
} from '../../../model/rules.ts';
import { SURFACES } from '../../../model/steps.ts';
import { component, count } from '../openapi/component.ts';

export const ruleId = z
  .string()
  .regex(/^ATR-\d{4}-\d{5}$/)
  .describe('Id of a rule of the corpus.');

export const corpusIdentity = z.string().regex(/^[0-9a-f]{40}$/);

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
      identity: corpusIdentity.describe(
        'One id for the package archive and the reviewed file list, like a commit id.',
      ),
    })
    .describe('The pinned corpus. It changes with a reviewed release only.'),
);

const supportCounts = component(
  'SupportCounts',
  z
    .object({
      as_written: count('Rules that the engine supports fully.'),
      degraded: count('Rules that can run without the conditions that this engine lacks.'),
      unsupported: count('Rules that the engine does not support.'),
      fails_own_examples: count('Rules that fail their own examples, and so never run.'),
    })
    .describe('The rules of the corpus by support, the same for every workspace.'),
);

const stateCounts = component(
  'StateCounts',
  z
    .object({
      as_written: count('Rules that run now, with all of their conditions.'),
      degraded: count('Rules that run now, without the conditions that this engine lacks.'),
      off_by_tier: count('Rules that can run and are off with the experimental tier.'),
      off_by_override: count('Rules that can run and that this workspace switched off.'),
      unsupported: count('Rules that cannot run here: the engine does not support them.'),
      draft_or_deprecated: count('Rules that cannot run: draft or deprecated in the corpus.'),
      fails_own_examples: count('Rules that cannot run: they fail their own examples.'),
    })
    .describe('The rules in this workspace now. Each rule counts once: they add up to all rules.'),
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
  state: z.enum(RULE_STATES).describe('The count of the workspace that the rule is in.'),
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
    tested: z.boolean().describe('False for a rule that the engine does not support.'),
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
      suppress_in_code_blocks: z
        .boolean()
        .describe('Whether a condition does not count whose first match in a text begins in code.'),
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
      counts: stateCounts,
      corpus_counts: supportCounts,
      page: z.int().min(1),
      per_page: z.int().min(1),
      total: count('Rules that match the filters.'),
      total_pages: count('Pages of `per_page` rules.'),
      rules: z.array(ruleItem),
    })
    .describe('A page of rules, with the counts of this workspace and of the corpus.'),
);

const orphanedOverride = component(
  'OrphanedOverride',
  z
    .object({
      rule_id: z.string(),
      enabled: z.boolean().describe('What the override says; it has no effect.'),
      reason: z.enum([
        'not_in_snapshot',
        'engine_unsupported',
        'fails_own_examples',
        'status_refused',
      ]),
      detail: z.string(),
    })
    .describe('An override of a rule that the snapshot does not have, or that cannot run.'),
);

export const ruleSettings = component(
  'RuleSettings',
  z
    .object({
      experimental: z.boolean().describe('Is the experimental tier switched on?'),
      counts: stateCounts,
      corpus_counts: supportCounts,
      overrides: count('Overrides of the workspace, with those that have no effect.'),
      orphaned_overrides: z
        .array(orphanedOverride)
        .describe('Overrides without effect, the first 200 by rule id.'),
      snapshot,
    })
    .describe('What the workspace has decided, and the counts.'),
);
