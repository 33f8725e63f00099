/**
 * The findings in the read API: a page, newest first, and one by its id; and their operations in `/openapi.json`.
 * The examples there are made by the functions that answer: the finding of the attack in the ingest example. A
 * corpus without its rule gives no example.
 */
import { z } from 'zod';
import type { WorkspaceReader } from '../../../db/connection-turns.ts';
import { listFindingGroups } from '../../../db/findings/finding-groups.ts';
import { listFindings as readFindings } from '../../../db/findings/finding-list.ts';
import { countFindings } from '../../../db/findings/finding-totals.ts';
import { findFinding } from '../../../db/findings/findings.ts';
import { SluiceError } from '../../../errors.ts';
import {
  FINDING_GROUPINGS,
  FINDING_ORDERS,
  type Finding,
  type FindingFilter,
} from '../../../model/findings.ts';
import type { RuleBook } from '../../../model/rules.ts';
import { json } from '../../transport/answers.ts';
import { NDJSON_TYPE } from '../../transport/exchange.ts';
import {
  idOf,
  pageCursor,
  parseQuery,
  skippedBy,
  toCursor,
  toSkipCursor,
  wholeNumber,
} from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { evidenceOperations } from '../evidence/evidence-routes.ts';
import type { BodyOf } from '../openapi/component.ts';
import {
  type ApiSettings,
  badQuery,
  example,
  found,
  idParameter,
  notFound,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { ATTACK, RUN, SPAN_IDS, STORED_AT, TRACE_ID } from '../otlp/otlp-examples.ts';
import { ocsfQuery } from './finding-export.ts';
import { filterExamples, filterOf, filterQuery } from './finding-query.ts';
import { finding, findingPage, toFinding } from './finding-schema.ts';
import { incidentOperation } from './incident-routes.ts';
import { ocsfEvent, ocsfSourceOf, toOcsf } from './ocsf.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
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

const linksOf = ({ baseUrl, rules: { references } }: ApiContext) => ({ baseUrl, references });

/** Findings of a page of a list, or its groups with `group_by`. */
export async function findingsInOrder(
  db: ApiContext['db'],
  reader: WorkspaceReader | number,
  query: Pick<z.infer<typeof findingsQuery>, 'cursor' | 'sort' | 'group_by'>,
  filter: FindingFilter,
  limit: number,
) {
  const { cursor = null, sort, group_by: grouping } = query;
  if (grouping === undefined) {
    const found = await db.read(readFindings, reader, filter, cursor, limit, sort);
    return { ...found, groups: null };
  }
  const skip = skippedBy(cursor);
  const found = await db.read(listFindingGroups, reader, filter, grouping, sort, skip, limit);
  return { ...found, findings: [], next: toSkipCursor(found.next), endedEarly: false };
}

export function listFindings(context: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId, email: me = null }) => {
    const query = parseQuery(findingsQuery, exchange.query);
    const { cursor = null } = query;
    const reader = { workspaceId, signal: exchange.signal };
    const filter = filterOf(query, context, me);
    // One after the other: a request must not hold two of the few connections for reads.
    const page = await findingsInOrder(context.db, reader, query, filter, query.limit);
    const { next, searchedTo } = page;
    const links = linksOf(context);
    const findings =
      page.groups === null
        ? page.findings.map((one) => toFinding(one, links))
        : page.groups.map((group) => toFinding(group.top, links, group));
    const total = cursor === null ? await context.db.read(countFindings, reader, filter) : null;
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
export function showFinding(context: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { findingId }) => {
    const id = idOf(findingId);
    const finding = id === null ? null : await context.db.find(findFinding, workspaceId, id);
    if (finding === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    return json(toFinding(finding, linksOf(context)));
  };
}

const TAG = 'Risk findings';
const FINDING_ID = '7d0c8a4be1f34c0f9b6f2a1d5e8c3b42';
/** The rule that finds the attack of the example run, and its condition. */
const RULE_ID = 'ATR-2026-00001';
const CONDITION_INDEX = 0;
/** The part of the attack that the condition matches; the excerpt has the whole attack. */
const MATCH = { start: 0, end: 'Ignore all previous instructions'.length };

function findingOf({ rules, snapshot }: RuleBook): Finding | null {
  const rule = rules.find(({ id }) => id === RULE_ID);
  const condition = rule?.conditions[CONDITION_INDEX];
  if (rule === undefined || condition === undefined) return null;
  return {
    id: FINDING_ID,
    createdAt: STORED_AT,
    runId: TRACE_ID,
    corpusVersion: snapshot.version,
    corpusIdentity: snapshot.identity,
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleStatus: rule.status,
    severity: rule.severity,
    category: rule.category,
    subcategory: rule.subcategory,
    description: `${rule.id} "${rule.title}" matched the user input`,
    conditionIndex: condition.index,
    conditionDescription: condition.description,
    field: condition.field,
    surface: 'step_input',
    stepSpanId: SPAN_IDS.root,
    stepName: `invoke_agent ${RUN.agent}`,
    toolName: null,
    agentName: RUN.agent,
    serviceName: RUN.agent,
    userId: null,
    sessionId: null,
    model: RUN.model,
    state: 'new',
    assignee: null,
    isExcepted: false,
    excerpt: ATTACK,
    place: {
      step: 1,
      source: 'span',
      startUnixNano: '1',
      twin: 0,
      text: 0,
      match: MATCH,
      inExcerpt: MATCH,
      nameDigests: [],
    },
    recommendedActions: rule.recommendedActions,
  };
}

export const FINDINGS_EXAMPLE_QUERY = `run_id=${TRACE_ID}&rule_id=${RULE_ID}`;

function findingExamples({ book, version, baseUrl }: ApiSettings) {
  const finding = findingOf(book);
  if (finding === null) return { findingId: FINDING_ID, list: [], one: [], event: [] };
  const event = toOcsf(finding, ocsfSourceOf(book.rules, version, baseUrl));
  const item = toFinding(finding, { baseUrl, references: book.references });
  const total = { count: 1, is_exact: true };
  const answer = `Answer to \`?${FINDINGS_EXAMPLE_QUERY}\`.`;
  return {
    findingId: FINDING_ID,
    list: [
      example('of_a_run', answer, {
        findings: [item],
        next_cursor: null,
        searched_to: null,
        total,
      }),
    ],
    one: [example('finding', 'What the attack in the example run is found by.', item)],
    event: [example('event', `A line of the answer to \`?${FINDINGS_EXAMPLE_QUERY}\`.`, event)],
  };
}

export function findingOperations(settings: ApiSettings): Operation[] {
  const examples = findingExamples(settings);
  return [
    {
      ...READ,
      path: '/platform/v1/risk-findings',
      operationId: 'listFindings',
      tag: TAG,
      summary: 'List the findings',
      description:
        'Newest first unless `sort` says otherwise. Filters by name, surface and text search the newest ' +
        '5,000 findings from the cursor on: a page may be short, even empty, and still have a `next_cursor`. A finding appears about a minute after the last step of its run arrived. ' +
        'Findings are advisory: nothing is blocked.',
      query: findingsQuery,
      queryExamples: { ...filterExamples, sort: 'count', group_by: 'match', limit: '50' },
      responses: {
        ...found('A page of findings.', findingPage, examples.list),
        ...READ_REFUSALS,
        ...badQuery('limit', 'must be a whole number from 1 to 500, in digits'),
      },
    },
    incidentOperation(
      { baseUrl: settings.baseUrl, titleOf: settings.book.titleOf },
      filterExamples,
    ),
    {
      ...READ,
      path: '/platform/v1/risk-findings/ocsf',
      operationId: 'exportFindings',
      tag: TAG,
      summary: 'Export the findings as OCSF events',
      description:
        'One event per line, oldest first, without excerpts. Send the id of the last finding you have as ' +
        '`after` to continue: every finding is sent once, even if a transfer was interrupted.',
      query: ocsfQuery,
      queryExamples: { ...filterExamples, version: '1.9' },
      responses: {
        200: {
          description: 'Newline-delimited JSON: each line is one event of this form.',
          contents: [{ mediaType: NDJSON_TYPE, schema: ocsfEvent, examples: examples.event }],
        },
        ...READ_REFUSALS,
        ...badQuery('after', 'is no finding of this workspace, or past retention; use since'),
      },
    },
    {
      ...READ,
      path: '/platform/v1/risk-findings/{findingId}',
      operationId: 'getFinding',
      tag: TAG,
      summary: 'Read one finding',
      description: 'The same members as in the list.',
      parameters: [idParameter('findingId', 'Id of a finding.', examples.findingId)],
      responses: {
        ...found('The finding.', finding, examples.one),
        ...notFound('This workspace has no such finding.'),
        ...READ_REFUSALS,
      },
    },
    ...evidenceOperations(examples.findingId),
  ];
}
