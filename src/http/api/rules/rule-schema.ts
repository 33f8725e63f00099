/** The bodies of the rule routes. */
import { z } from 'zod';

import { REFERENCE_FORM } from '../../../model/references/rule-references.ts';
import {
  CATEGORIES,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  SEVERITIES,
  SUPPORTS,
} from '../../../model/rules.ts';
import { SURFACES } from '../../../model/steps.ts';
import { component, count, timestamp } from '../openapi/component.ts';

export const ruleId = z
  .string()
  .regex(/^ATR-\d{4}-\d{5}$/)
  .describe('Id of a rule of the corpus.');

export const reference = z
  .string()
  .regex(
    REFERENCE_FORM,
    'must look like AML.T0051, AML.TA0005, LLM01, ASI01, T1059, CWE-22 or CVE-2026-1234',
  );

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
        .describe('SHA-256 of the list of all files and their digests.'),
      identity: corpusIdentity.describe(
        'One id for the package archive and the reviewed file list, like a commit id.',
      ),
    })
    .describe('The pinned corpus. It changes only with a reviewed update.'),
);

const supportCounts = component(
  'SupportCounts',
  z
    .object({
      as_written: count('Rules that the engine supports fully.'),
      degraded: count('Rules that run without the conditions that this engine does not support.'),
      unsupported: count('Rules that the engine does not support.'),
      fails_own_examples: count('Rules that fail their own examples, and so never run.'),
    })
    .describe(
      'All rules of the corpus by support: the same for every workspace, independent of its settings. For ' +
        'what runs now, see `StateCounts`.',
    ),
);

const stateCounts = component(
  'StateCounts',
  z
    .object({
      as_written: count('Rules that run now, with all conditions.'),
      degraded: count(
        'Rules that run now, without the conditions that this engine does not support.',
      ),
      off_by_tier: count('Rules that can run and are off because the experimental tier is off.'),
      off_by_override: count('Rules that can run and that this workspace has switched off.'),
      unsupported: count('Rules that cannot run: the engine does not support them.'),
      draft_or_deprecated: count('Rules that cannot run: draft or deprecated in the corpus.'),
      fails_own_examples: count('Rules that cannot run: they fail their own examples.'),
    })
    .describe(
      'All rules by their state in this workspace at the time of the request. They add up to all rules of ' +
        'the corpus.',
    ),
);

const percent = z.number().min(0).max(100).nullable();

const statedQuality = {
  maturity: z
    .enum(MATURITIES)
    .nullable()
    .describe("The authors' word for how far the rule is tested; `status` decides what runs."),
  confidence: percent.describe("The authors' confidence in the rule, 0 to 100."),
  wild_fp_rate: percent.describe('How many of 100 harmless documents it matched, by its authors.'),
  wild_samples: z.int().min(0).nullable().describe('Documents that its authors tried it on.'),
  wild_validated: z.string().nullable().describe('The day on which they did.'),
};

export const referenceIds = z
  .array(z.string())
  .describe(
    'What the rule refers to: ids of MITRE ATLAS and ATT&CK, of lists of OWASP, weaknesses and vulnerabilities.',
  );

const itemMembers = {
  id: ruleId,
  title: z.string(),
  severity: z.enum(SEVERITIES),
  version: z.string().describe('Version of the rule.'),
  status: z.enum(RULE_STATUSES).describe('Set by the corpus.'),
  category: z.enum(CATEGORIES),
  subcategory: z.string().nullable(),
  support: z.enum(SUPPORTS).describe('How far the engine supports the rule.'),
  enabled: z.boolean().describe('Whether the rule runs in this workspace now.'),
  decided_by: z
    .enum(['support', 'own_examples', 'tier', 'override'])
    .describe('What decided `enabled`.'),
  state: z
    .enum(RULE_STATES)
    .describe('State of the rule in this workspace: the member of `counts` that includes it.'),
  ...statedQuality,
  reference_ids: referenceIds,
  recent_findings: count('Its findings of the last 30 days in this workspace, up to 10,000.'),
  recent_false_positives: count('How many of them were set to false positive.'),
  last_seen_at: timestamp('Its newest finding in this workspace; null without one.').nullable(),
  matcher_share: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe(
      'Its part of the time that this server matched rules in 30 days, of all workspaces, from a sample of the runs; null if it was not searched for in one.',
    ),
  matcher_us: z
    .number()
    .min(0)
    .nullable()
    .describe('Mean time of one search for the rule, in microseconds, from the same sample.'),
};

export const ruleItem = component('RuleItem', z.object(itemMembers).describe('A rule in a list.'));

const unsupportedReason = component(
  'UnsupportedReason',
  z
    .object({ code: z.string(), message: z.string() })
    .describe('Why a condition or a whole rule cannot run.'),
);

const condition = component(
  'RuleCondition',
  z
    .object({
      index: count('Index of the condition in the rule.'),
      field: z.string().describe('The rule field that it reads.'),
      surfaces: z.array(z.enum(SURFACES)).describe('The kinds of text that the field stands for.'),
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
          index: count('Index among the examples of its kind.'),
          why: z.string(),
        }),
      )
      .describe('Examples for which the rule gives the wrong result.'),
    tested: z.boolean().describe('False for a rule that the engine does not support.'),
  })
  .describe("The rule's own test cases, run with this engine.");

export const rule = component(
  'Rule',
  z
    .object({
      ...itemMembers,
      description: z.string(),
      author: z.string(),
      date: z.string(),
      references: z
        .unknown()
        .describe("The author's references, as in the rule file; null if it has none."),
      conditions: z.array(condition),
      condition: z.enum(['any', 'all']).describe('How many of its conditions must match.'),
      suppress_in_code_blocks: z
        .boolean()
        .describe(
          'True if a condition is ignored when its first match in a text begins in a code block.',
        ),
      unsupported_reasons: z.array(unsupportedReason),
      own_examples: ownExamples,
      false_positives: z
        .array(z.string())
        .describe("The authors' sentences about harmless texts that may match."),
      recommended_actions: z
        .array(z.string())
        .describe("Recommended by the rule's author; never carried out."),
      override: z
        .boolean()
        .nullable()
        .describe(
          'Whether this workspace has switched the rule on or off manually; null if it has not.',
        ),
    })
    .describe('One rule in full.'),
);

export const rulePage = component(
  'RulePage',
  z
    .object({
      snapshot,
      experimental: z.boolean().describe('True if the experimental tier is on.'),
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
      enabled: z.boolean().describe('What the override sets; it has no effect.'),
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
      experimental: z.boolean().describe('True if the experimental tier is on.'),
      counts: stateCounts,
      corpus_counts: supportCounts,
      overrides: count('Overrides of the workspace, including overrides without effect.'),
      orphaned_overrides: z
        .array(orphanedOverride)
        .describe('Overrides without effect, the first 200 by rule id.'),
      snapshot,
    })
    .describe('What the workspace has decided, and the counts.'),
);
