/** `GET /platform/v1/incidents`: runs with findings, ranked: the handler, its body and its part of `/openapi.json`. */
import { z } from 'zod';
import { listIncidents as readIncidents } from '../../../db/findings/incidents.ts';
import { categoryName } from '../../../model/finding-fields.ts';
import {
  INCIDENT_RUNS_MAX,
  type Incident,
  RANK_PARTS,
} from '../../../model/incidents/incidents.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import { SURFACES } from '../../../model/steps.ts';
import { FINDING_STATES } from '../../../model/triage.ts';
import { findingLink } from '../../../web/app/findings.ts';
import { json } from '../../transport/answers.ts';
import {
  pageCursor,
  parseQuery,
  skippedBy,
  toCursor,
  toSkipCursor,
  wholeNumber,
} from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import {
  type BodyOf,
  bodyFrom,
  component,
  count,
  hex16,
  nextCursor,
  timestamp,
} from '../openapi/component.ts';
import {
  badQuery,
  example,
  found,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { RUN, STORED_AT, TRACE_ID } from '../otlp/otlp-examples.ts';
import { ruleId } from '../rules/rule-schema.ts';
import { filterOf, filterQuery } from './finding-query.ts';
import { findingCategoryName, pageUrl } from './finding-schema.ts';

const LIMIT_DEFAULT = 25;
const LIMIT_MAX = 100;

export const incidentsQuery = filterQuery.extend({
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Incidents on a page.'),
});

const name = (what: string) => z.string().nullable().describe(`${what} As sent; null if unknown.`);

const chainLink = z.object({
  run_id: hex16('The run of the step.'),
  step: count('Number of the step in the run, from 1.'),
  surface: z.enum(SURFACES),
  tool: name('The tool of the step.'),
  finding_id: hex16('The most severe finding with a match here.'),
  rule_id: ruleId,
  title: z.string().describe('Title of the rule.'),
  severity: z.enum(SEVERITIES),
  category: findingCategoryName,
  more_rules: count('Further rules that matched here.'),
  role: z
    .enum(['injection', 'act'])
    .nullable()
    .describe('`injection`: an instruction in untrusted text; `act`: what follows and fits it.'),
});

const incident = component(
  'Incident',
  z
    .object({
      run_id: hex16('The run with the finding that leads.'),
      finding_id: hex16('That finding.'),
      rule_id: ruleId,
      title: z.string().describe('Title of its rule.'),
      severity: z.enum(SEVERITIES).describe('Of the most severe open finding; of any if none is.'),
      agent: name('The agent.'),
      service: name('The service that sent the run.'),
      user_id: name('The user.'),
      session_id: name('The session. Its runs are one incident.'),
      first_seen_at: timestamp('When the first of its findings was stored.'),
      last_seen_at: timestamp('When the last one was stored.'),
      findings: count('Its findings.'),
      rules: count('Rules that matched.'),
      runs: count('Runs with them.'),
      repeats: count('Runs or sessions of the agent with the same findings, this one included.'),
      states: z
        .partialRecord(z.enum(FINDING_STATES), count('Findings in this state.'))
        .describe('Number of findings by state; a state without findings is absent.'),
      chain: z.array(chainLink).describe('Its matches in the order of time, each text once.'),
      more_links: count('Matches that the chain leaves out, the least severe ones.'),
      score: z.int().describe('The sum of the points.'),
      reasons: z
        .array(
          z.object({
            part: z.enum(RANK_PARTS),
            points: z.int(),
            text: z.string().describe('A sentence without text of a run.'),
          }),
        )
        .describe('Why it has its rank.'),
      url: z.url().describe('The run in the dashboard, at the finding that leads.'),
    })
    .describe('A run or session that deserves a look. Advisory: nothing was blocked.'),
);

export const incidentPage = component(
  'IncidentPage',
  z
    .object({
      incidents: z.array(incident),
      next_cursor: nextCursor,
      searched_to: timestamp(
        'Runs with findings stored before were not ranked; the same request with this as `until` ranks them. ' +
          'Null when all were.',
      ).nullable(),
      total: count('Incidents of all pages.'),
    })
    .describe('Incidents, those that deserve a look first on top.'),
);

type TitleOf = (ruleId: string) => string;

function toIncident(one: Incident, baseUrl: string, titleOf: TitleOf): BodyOf<typeof incident> {
  const { runId, findingId } = one;
  return bodyFrom(incident, {
    ...one,
    title: titleOf(one.ruleId),
    agent: one.agentName,
    service: one.serviceName,
    chain: one.chain.map((link) =>
      bodyFrom(chainLink, {
        ...link,
        title: titleOf(link.ruleId),
        category: categoryName(link.category),
      }),
    ),
    url: pageUrl(baseUrl, findingLink({ id: findingId, runId })),
  });
}

export function listIncidents(context: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId, email: me = null }) => {
    const { cursor = null, limit, ...query } = parseQuery(incidentsQuery, exchange.query);
    const filter = filterOf({ ...query, state: query.state ?? 'open' }, context, me);
    const skip = skippedBy(cursor);
    const reader = { workspaceId, signal: exchange.signal };
    const listed = await context.db.read(readIncidents, reader, filter, skip, limit);
    const { baseUrl, rules } = context;
    const body: BodyOf<typeof incidentPage> = {
      incidents: listed.incidents.map((one) => toIncident(one, baseUrl, rules.titleOf)),
      next_cursor: toCursor(toSkipCursor(listed.next)),
      searched_to: listed.searchedTo?.toISOString() ?? null,
      total: listed.total,
    };
    return json(body);
  };
}

const EXAMPLE: Incident = {
  runId: TRACE_ID,
  findingId: '7d0c8a4be1f34c0f9b6f2a1d5e8c3b42',
  ruleId: 'ATR-2026-00001',
  severity: 'high',
  agentName: RUN.agent,
  serviceName: RUN.agent,
  userId: null,
  sessionId: null,
  firstSeenAt: STORED_AT,
  lastSeenAt: STORED_AT,
  findings: 1,
  rules: 1,
  runs: 1,
  repeats: 1,
  states: { new: 1 },
  chain: [
    {
      runId: TRACE_ID,
      step: 1,
      surface: 'step_input',
      tool: null,
      findingId: '7d0c8a4be1f34c0f9b6f2a1d5e8c3b42',
      ruleId: 'ATR-2026-00001',
      severity: 'high',
      category: 'prompt-injection',
      moreRules: 0,
      role: null,
    },
  ],
  moreLinks: 0,
  score: 35,
  reasons: [
    { part: 'severity', points: 25, text: 'ATR-2026-00001 is of high severity.' },
    {
      part: 'rarity',
      points: 10,
      text: 'ATR-2026-00001 fired in no other run or session of this agent in the last 30 days.',
    },
  ],
};

export function incidentOperation(
  { baseUrl, titleOf }: { readonly baseUrl: string; readonly titleOf: TitleOf },
  queryExamples: Readonly<Record<string, string>>,
): Operation {
  const page = {
    incidents: [toIncident(EXAMPLE, baseUrl, titleOf)],
    next_cursor: null,
    searched_to: null,
    total: 1,
  };
  return {
    ...READ,
    path: '/platform/v1/incidents',
    operationId: 'listIncidents',
    tag: 'Risk findings',
    summary: 'List the incidents',
    description:
      'Runs with findings, those that deserve a look first on top; the runs of a session are one, and so are runs of an ' +
      'agent with the same findings. The rank is the sum of severity, chain, rarity, dismissals and novelty, each with ' +
      `a sentence. The newest ${INCIDENT_RUNS_MAX.toLocaleString('en')} runs with findings of the filter are ranked; ` +
      'without `state`, those with open findings.',
    query: incidentsQuery,
    queryExamples: { ...queryExamples, limit: '25' },
    responses: {
      ...found('A page of incidents.', incidentPage, [example('incidents', 'One incident.', page)]),
      ...READ_REFUSALS,
      ...badQuery('limit', `must be a whole number from 1 to ${LIMIT_MAX}, in digits`),
    },
  };
}
