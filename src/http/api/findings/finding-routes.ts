/** The findings in the read API: a page, newest first, and one by its id. */
import { z } from 'zod';

import type { Store } from '../../../db/store.ts';
import { SluiceError } from '../../../errors.ts';
import type { Finding, FindingFilter } from '../../../model/findings.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import { json } from '../../transport/problem.ts';
import {
  hexId,
  idOf,
  moment,
  pageCursor,
  parseQuery,
  toCursor,
  wholeNumber,
} from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import type { BodyOf } from '../openapi/component.ts';
import {
  CATEGORY_BY_NAME,
  DETECTOR,
  type finding as findingBody,
  findingCategory,
  findingCategoryName,
  type findingPage,
  type ruleFacts as ruleFactsBody,
} from './finding-schema.ts';

export type FindingReader = Pick<Store['findings'], 'list' | 'find'>;

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;

/** The filters of the list and the export. */
export const filterQuery = z.object({
  severity: z.enum(SEVERITIES).optional().describe('Only findings of this severity.'),
  category: findingCategoryName
    .transform((name) => CATEGORY_BY_NAME.get(name))
    .optional()
    .describe('Only findings of this category.'),
  rule_id: z
    .string()
    .regex(/^ATR-\d{4}-\d{5}$/, 'must look like ATR-2026-00001')
    .optional()
    .describe('Only findings of this rule.'),
  run_id: hexId.optional().describe('Only findings in this run.'),
  since: moment.optional().describe('Only findings stored then or later.'),
  until: moment.optional().describe('Only findings stored before.'),
});

/** The parameters of the list. */
export const findingsQuery = filterQuery.extend({
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Findings on a page.'),
});

/** The filter of a query. */
export function filterOf(query: z.infer<typeof filterQuery>): FindingFilter {
  return {
    severity: query.severity,
    category: query.category,
    ruleId: query.rule_id,
    runId: query.run_id,
    since: query.since,
    until: query.until,
  };
}

/** The metadata of a finding: which rule matched, and where. Never its excerpt. */
export function ruleFacts(finding: Omit<Finding, 'excerpt'>): BodyOf<typeof ruleFactsBody> {
  return {
    detector: DETECTOR,
    corpus_version: finding.corpusVersion,
    corpus_identity: finding.corpusIdentity,
    rule_id: finding.ruleId,
    rule_version: finding.ruleVersion,
    rule_status: finding.ruleStatus,
    category: finding.category,
    subcategory: finding.subcategory,
    condition: finding.conditionIndex,
    condition_description: finding.conditionDescription,
    field: finding.field,
    surface: finding.surface,
    step: {
      span_id: finding.stepSpanId,
      name: finding.stepName,
      number: finding.place?.step ?? null,
    },
  };
}

/** A finding as the API shows it. */
export function toFinding(finding: Finding): BodyOf<typeof findingBody> {
  return {
    id: finding.id,
    created_at: finding.createdAt.toISOString(),
    category: findingCategory(finding.category),
    severity: finding.severity,
    description: finding.description,
    metadata: ruleFacts(finding),
    run_id: finding.runId,
    excerpt: finding.excerpt,
    excerpt_match: finding.excerpt === null ? null : (finding.place?.inExcerpt ?? null),
    recommended_actions: finding.recommendedActions,
  };
}

/** `GET /platform/v1/risk-findings` */
export function listFindings(reader: FindingReader): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(findingsQuery, exchange.query);
    const { findings, next } = await reader.list(
      workspaceId,
      filterOf(query),
      query.cursor ?? null,
      query.limit,
    );
    const body: BodyOf<typeof findingPage> = {
      findings: findings.map(toFinding),
      next_cursor: toCursor(next),
    };
    return json(body);
  };
}

/** `GET /platform/v1/risk-findings/{findingId}` */
export function showFinding(reader: FindingReader): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { findingId }) => {
    const id = idOf(findingId);
    const finding = id === null ? null : await reader.find(workspaceId, id);
    if (finding === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    return json(toFinding(finding));
  };
}
