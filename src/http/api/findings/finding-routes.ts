/** The findings in the read API: a page, newest first, and one by its id. */
import { z } from 'zod';

import type { Store } from '../../../db/store.ts';
import { SluiceError } from '../../../errors.ts';
import {
  CATEGORY_BY_NAME,
  categoryName,
  FINDING_FILTERS,
  type FilterKind,
  type FilterRow,
} from '../../../model/finding-fields.ts';
import {
  FINDING_GROUPINGS,
  FINDING_ORDERS,
  type Finding,
  type FindingFilter,
  type FindingGroup,
} from '../../../model/findings.ts';
import type { Hex16 } from '../../../model/json.ts';
import type { ReferenceIndex } from '../../../model/references/rule-references.ts';
import { type PageCursor, RUN_NAME_ROWS, toNamed } from '../../../model/runs.ts';
import { type LIST_STATES, OPEN_STATES, type TriageMark } from '../../../model/triage.ts';
import { InvalidInput } from '../../transport/invalid-input.ts';
import { json } from '../../transport/problem.ts';
import {
  hexId,
  idOf,
  type MomentOrAgo,
  momentOrAgo,
  pageCursor,
  parseQuery,
  toCursor,
  toDate,
  wholeNumber,
} from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import type { BodyOf } from '../openapi/component.ts';
import { reference } from '../rules/rule-schema.ts';
import {
  DETECTOR,
  type finding as findingBody,
  type findingPage,
  type ruleFacts as ruleFactsBody,
} from './finding-schema.ts';

export type FindingReader = Pick<Store['findings'], 'list' | 'groups' | 'find' | 'count'> & {
  /** where the dashboard is */
  readonly baseUrl: string;
  /** of the loaded corpus */
  readonly references: ReferenceIndex;
  /** PostgreSQL's clock */
  readonly nowMs: () => number;
};

/** The inputs of a filter. */
export interface FilterContext extends Pick<FindingReader, 'references' | 'nowMs'> {
  /** e-mail address of the signed-in user; a key has none */
  readonly me: string | null;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** As many findings as groups are made of (finding-list.ts). */
const GROUPS_SKIPPED_MAX = 5000;
/** Longest text of a filter: a stored name in double quotes. */
const FILTER_CHARS_MAX = 258;

const text = z.string().max(FILTER_CHARS_MAX);

type Filters = typeof FINDING_FILTERS;
/** The type of a parsed parameter. */
type Parsed<Row> = Row extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : Row extends { readonly kind: 'time' }
    ? MomentOrAgo
    : string;

const SCHEMAS: Readonly<Record<FilterKind, (row: FilterRow) => z.ZodType>> = {
  choice: ({ choices = [] }) => z.enum(choices),
  name: () => text,
  text: () => text,
  id: () => hexId,
  rule: () => z.string().regex(/^ATR-\d{4}-\d{5}$/, 'must look like ATR-2026-00001'),
  reference: () => reference,
  time: () => momentOrAgo,
};

/** The filters of the list and the export. */
export const filterQuery = z.object(
  Object.fromEntries(
    Object.entries<FilterRow>(FINDING_FILTERS).map(([name, row]) => [
      name,
      SCHEMAS[row.kind](row).optional().describe(row.describe),
    ]),
  ) as { [Name in keyof Filters]: z.ZodOptional<z.ZodType<Parsed<Filters[Name]>>> },
);

/** An example of each of them. */
export const filterExamples = Object.fromEntries(
  Object.entries(FINDING_FILTERS).map(([name, { example }]) => [name, example]),
);

/** The parameters of the list. */
export const findingsQuery = filterQuery.extend({
  sort: z
    .enum(FINDING_ORDERS)
    .default('newest')
    .describe('Order of the list. `count`: the largest groups first, with `group_by` only.'),
  group_by: z
    .enum(FINDING_GROUPINGS)
    .optional()
    .describe(
      'One line per run, or per rule, agent (else service) and matched text. A line is the most severe finding of ' +
        'the run, or the newest repetition, with its `group`. Groups are made of the newest 5,000 findings before ' +
        '`until`; where there are more, the answer has `searched_to`.',
    ),
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Findings on a page.'),
});

/** The findings that a list shows, by its `state`. */
function stateFilter(state: (typeof LIST_STATES)[number]): FindingFilter {
  if (state === 'open') return { states: OPEN_STATES, isExcepted: false };
  if (state === 'excepted') return { isExcepted: true };
  return state === 'all' ? {} : { states: [state] };
}

/**
 * The filter of a query.
 *
 * @throws {InvalidInput} for `me` of a key
 */
export function filterOf(
  query: z.infer<typeof filterQuery>,
  { references, nowMs, me }: FilterContext,
): FindingFilter {
  const { reference, category, state = 'all' } = query;
  const assignee = query.assignee === 'me' ? me : query.assignee;
  if (assignee === null) {
    const message = 'me is for signed-in users; use an e-mail address';
    throw new InvalidInput('bad_query', [{ path: 'assignee', message }]);
  }
  const now = nowMs();
  return {
    ...stateFilter(state),
    ...Object.fromEntries(RUN_NAME_ROWS.map(({ key, name }) => [key, query[name]])),
    assignee: assignee === 'none' ? null : assignee || undefined,
    ruleIds: reference === undefined ? undefined : references.rulesOf(reference),
    severity: query.severity,
    category: category === undefined ? undefined : CATEGORY_BY_NAME.get(category),
    ruleId: query.rule_id,
    runId: query.run_id,
    surface: query.surface,
    search: query.q,
    sameAs: query.same_as,
    since: toDate(query.since, now),
    until: toDate(query.until, now),
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
      number: finding.place.step,
    },
  };
}

/** Said only where it explains why an exception does not hide the finding. */
function otherMatches({ others }: Pick<Finding, 'others'>) {
  if (others == null || (!others.isCut && !others.isPartlyExcepted)) return {};
  const { count, isCut, isPartlyExcepted } = others;
  return {
    other_matches: { count, is_exact: !isCut, is_partly_excepted: isPartlyExcepted },
  };
}

/** People's decisions about a finding, as the API and its exports show them. */
export function triageFacts({ state, assignee, isExcepted }: TriageMark) {
  return { state, assignee, is_excepted: isExcepted };
}

/** Where the dashboard shows a finding. */
export function findingUrl(baseUrl: string, id: Hex16): string {
  return `${baseUrl.replace(/\/$/, '')}/app/findings/${id}`;
}

function toGroup(group: FindingGroup): BodyOf<typeof findingBody>['group'] {
  return {
    findings: group.findings,
    rules: group.rules,
    runs: group.runs,
    first_seen_at: group.firstSeenAt.toISOString(),
    last_seen_at: group.lastSeenAt.toISOString(),
    by_day: [...group.days],
    severities: group.severities,
  };
}

/**
 * A finding as the API shows it.
 * @param group the findings that it stands for
 */
export function toFinding(
  finding: Finding,
  { baseUrl, references }: Pick<FindingReader, 'baseUrl' | 'references'>,
  group: FindingGroup | null = null,
): BodyOf<typeof findingBody> {
  return {
    id: finding.id,
    created_at: finding.createdAt.toISOString(),
    category: categoryName(finding.category),
    severity: finding.severity,
    description: finding.description,
    metadata: ruleFacts(finding),
    reference_ids: [...references.idsOf(finding.ruleId)],
    run_id: finding.runId,
    url: findingUrl(baseUrl, finding.id),
    ...triageFacts(finding),
    ...toNamed(finding),
    tool: finding.toolName,
    excerpt: finding.excerpt,
    excerpt_match: finding.excerpt === null ? null : finding.place.inExcerpt,
    ...otherMatches(finding),
    recommended_actions: finding.recommendedActions,
    group: group === null ? null : toGroup(group),
  };
}

/** The cursor of a page of groups: how many come before it. */
export function toGroupCursor(skip: number | null): PageCursor | null {
  return skip === null ? null : { atMicros: String(skip), id: '0'.repeat(32) };
}

/** The groups before a page. A cursor of another list reaches past every group. */
export function groupsBefore(cursor: PageCursor | null): number {
  return cursor === null ? 0 : Math.min(Number(cursor.atMicros), GROUPS_SKIPPED_MAX);
}

async function pageOf(
  reader: FindingReader,
  workspaceId: number,
  query: z.infer<typeof findingsQuery>,
  filter: FindingFilter,
  signal: AbortSignal | undefined,
): Promise<{
  findings: BodyOf<typeof findingBody>[];
  next: PageCursor | null;
  searchedTo: Date | null;
}> {
  const { cursor = null, limit, sort, group_by: grouping } = query;
  if (grouping === undefined) {
    const found = await reader.list(workspaceId, filter, cursor, limit, sort, signal);
    return { ...found, findings: found.findings.map((finding) => toFinding(finding, reader)) };
  }
  const skip = groupsBefore(cursor);
  const found = await reader.groups(workspaceId, filter, grouping, sort, skip, limit, signal);
  const findings = found.groups.map((group) => toFinding(group.top, reader, group));
  return { findings, next: toGroupCursor(found.next), searchedTo: found.searchedTo };
}

/** `GET /platform/v1/risk-findings` */
export function listFindings(reader: FindingReader): AuthorizedHandler {
  return async (exchange, { workspaceId, email: me = null }) => {
    const query = parseQuery(findingsQuery, exchange.query);
    const { cursor = null } = query;
    const { signal } = exchange;
    const filter = filterOf(query, { ...reader, me });
    // One after the other: a request must not hold two of the few connections for reads.
    const { findings, next, searchedTo } = await pageOf(reader, workspaceId, query, filter, signal);
    const total = cursor === null ? await reader.count(workspaceId, filter, signal) : null;
    const body: BodyOf<typeof findingPage> = {
      findings,
      next_cursor: toCursor(next),
      searched_to: searchedTo?.toISOString() ?? null,
      total: total === null ? null : { count: total.count, is_exact: total.isExact },
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
    return json(toFinding(finding, reader));
  };
}
