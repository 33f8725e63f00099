/** The bodies of the finding routes: their schemas, and the functions that make them of findings. */
import { z } from 'zod';

import { CATEGORY_BY_NAME, categoryName } from '../../../model/finding-fields.ts';
import type { Finding, FindingGroup } from '../../../model/findings.ts';
import type { Hex16 } from '../../../model/json.ts';
import type { ReferenceIndex } from '../../../model/references/rule-references.ts';
import { CATEGORIES, RULE_STATUSES, SEVERITIES } from '../../../model/rules.ts';
import { namesOfRun } from '../../../model/runs.ts';
import { SURFACES } from '../../../model/steps.ts';
import { FINDING_STATES, type TriageMark } from '../../../model/triage.ts';
import {
  type BodyOf,
  bodyFrom,
  component,
  count,
  hex8,
  hex16,
  nextCursor,
  timestamp,
} from '../openapi/component.ts';
import { corpusIdentity, referenceIds, ruleId } from '../rules/rule-schema.ts';

export const DETECTOR = 'agent-threat-rules';

export const findingCategoryName = z.enum([...CATEGORY_BY_NAME.keys()]);

const ruleFactMembers = {
  detector: z.literal(DETECTOR),
  corpus_version: z.string().describe('Version of the rule corpus that found it.'),
  corpus_identity: corpusIdentity.describe(
    'Identity of that corpus, as in `GET /platform/v1/atr/rules`.',
  ),
  rule_id: ruleId,
  rule_version: z.string(),
  rule_status: z.enum(RULE_STATUSES),
  category: z.enum(CATEGORIES).describe('Category as in the corpus.'),
  subcategory: z.string().nullable(),
  condition: count('Index of the condition that matched.'),
  condition_description: z.string().describe("The rule author's description of the condition."),
  field: z.string().describe('The rule field of the condition.'),
  surface: z.enum(SURFACES).describe('The surface that matched.'),
  step: z
    .object({
      span_id: hex8('Null when the step is a log record that names no span.'),
      name: z
        .string()
        .nullable()
        .describe(
          'As sent. Null if a rule matched the name itself and the workspace redacts, or in an export.',
        ),
      number: count(
        'Number of the step in the run, from 1, in time order at the time of the evaluation.',
      ),
    })
    .describe('The first step that matched.'),
};

const findingMetadata = component(
  'FindingMetadata',
  z.object(ruleFactMembers).describe('Which rule found it, and where. Never text of a run.'),
);

const name = (what: string) =>
  z.string().nullable().describe(`${what} As sent, up to 256 characters; null if unknown.`);

/** Names of the finding's run when it was evaluated. */
const runMembers = {
  ...namesOfRun((label) => name(`The ${label}.`)),
  tool: name(
    'The tool of the step. Null too if a rule matched the name itself and the workspace redacts, or in an export.',
  ),
};

const triageMembers = {
  state: z.enum(FINDING_STATES).describe('What people decided; `new` until then.'),
  assignee: z.string().nullable().describe('E-mail address of the user it is assigned to.'),
  is_excepted: z.boolean().describe('Whether an active exception covers it.'),
};

const findingGroup = z.object({
  findings: count('Findings in the group.'),
  rules: count('Rules that matched.'),
  runs: count('Runs with them.'),
  first_seen_at: timestamp('When the first one was stored.'),
  last_seen_at: timestamp('When the last one was stored.'),
  by_day: z
    .array(z.number().int())
    .describe(
      'Its findings of each of the last 14 UTC days, today last, of those that were searched.',
    ),
  severities: z
    .partialRecord(z.enum(SEVERITIES), count('Findings of this severity.'))
    .describe('Number of findings by severity; a severity without findings is absent.'),
});

export const finding = component(
  'Finding',
  z
    .object({
      id: hex16('Id of the finding.'),
      created_at: timestamp('When the run was evaluated.'),
      category: findingCategoryName,
      severity: z.enum(SEVERITIES).describe('Severity of the rule.'),
      description: z.string().describe('Which rule matched, its title, and on which surface.'),
      metadata: findingMetadata,
      reference_ids: referenceIds,
      run_id: hex16('The run it was found in.'),
      url: z.url().describe('The finding in the dashboard.'),
      ...triageMembers,
      ...runMembers,
      excerpt: z
        .string()
        .nullable()
        .describe('Up to 160 characters around the match; null if the workspace redacts excerpts.'),
      excerpt_match: z
        .object({ start: count('Where the match begins.'), end: count('Where it ends.') })
        .nullable()
        .describe('The match in the excerpt, in UTF-16 units; null without an excerpt.'),
      other_matches: z
        .object({
          count: count('How many others are kept.'),
          is_exact: z
            .boolean()
            .describe('False: there are more. No exception for a text or a tool covers them all.'),
          is_partly_excepted: z
            .boolean()
            .describe('Exceptions cover the first match, but not the one that the finding shows.'),
        })
        .optional()
        .describe(
          'Further distinct matches of the rule in the run. Exceptions hide the finding only if they cover ' +
            'all of them; present only if they cover the first one alone, or if there are more than are kept.',
        ),
      recommended_actions: z
        .array(z.string())
        .describe("Recommended by the rule's author; never carried out."),
      group: findingGroup
        .nullable()
        .describe('The findings that this one stands for; null without `group_by`.'),
    })
    .describe('One rule matched one run. Advisory: nothing was blocked.'),
);

type FindingBody = BodyOf<typeof finding>;

export const findingPage = component(
  'FindingPage',
  z
    .object({
      findings: z.array(finding),
      next_cursor: nextCursor,
      searched_to: timestamp(
        'With `group_by` or `sort=severity`: findings stored before were not searched, and the same request with this ' +
          'as `until` continues there. Null when all were.',
      ).nullable(),
      total: z
        .object({
          count: count('Findings that match, up to 10,000.'),
          is_exact: z.boolean().describe('False if there may be more.'),
        })
        .nullable()
        .describe('Of the whole list; null on pages with a `cursor`.'),
    })
    .describe('Findings, in the order of `sort`.'),
);

/** The facts of the rule with what OCSF has no attribute for. */
export const ocsfUnmapped = z
  .object({
    ...ruleFactMembers,
    category: findingCategoryName,
    reference_ids: referenceIds,
    run_id: hex16('The run it was found in.'),
    tool: runMembers.tool,
    ...triageMembers,
    recommended_actions: z.array(z.string()),
  })
  .describe('What OCSF has no attribute for, in the words of the findings list.');

/** The metadata of a finding: which rule matched, and where. Never its excerpt. */
export function ruleFacts(finding: Omit<Finding, 'excerpt'>): BodyOf<typeof findingMetadata> {
  return bodyFrom(findingMetadata, {
    ...finding,
    detector: DETECTOR,
    condition: finding.conditionIndex,
    step: {
      span_id: finding.stepSpanId,
      name: finding.stepName,
      number: finding.place.step,
    },
  });
}

/** Said only where it explains why an exception does not hide the finding. */
function otherMatches({ others }: Pick<Finding, 'others'>) {
  if (others == null || (!others.isCut && !others.isPartlyExcepted)) return {};
  const { count, isCut, isPartlyExcepted } = others;
  return {
    otherMatches: { count, is_exact: !isCut, is_partly_excepted: isPartlyExcepted },
  };
}

/** People's decisions about a finding, as the API and its exports show them. */
export function triageFacts({ state, assignee, isExcepted }: TriageMark) {
  return { state, assignee, is_excepted: isExcepted };
}

export const pageUrl = (baseUrl: string, path: string): string =>
  `${baseUrl.replace(/\/$/, '')}${path}`;

export function findingUrl(baseUrl: string, id: Hex16): string {
  return pageUrl(baseUrl, `/app/findings/${id}`);
}

export function toFinding(
  one: Finding,
  { baseUrl, references }: { readonly baseUrl: string; readonly references: ReferenceIndex },
  group: FindingGroup | null = null,
): FindingBody {
  return bodyFrom(finding, {
    ...one,
    category: categoryName(one.category),
    metadata: ruleFacts(one),
    referenceIds: references.idsOf(one.ruleId),
    url: findingUrl(baseUrl, one.id),
    agent: one.agentName,
    service: one.serviceName,
    tool: one.toolName,
    excerptMatch: one.excerpt === null ? null : one.place.inExcerpt,
    ...otherMatches(one),
    group: group && bodyFrom(findingGroup, { ...group, byDay: group.days }),
  });
}
