/** `GET /platform/v1/entities`: the runs of an agent, a user, a tool …: query, route, body and operation. */
import { z } from 'zod';
import { readEntity } from '../../../db/runs/entities.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import { ENTITY_KIND_NAMES } from '../../../model/shown/entities.ts';
import { usageInApi } from '../../../model/usage.ts';
import { json } from '../../transport/answers.ts';
import { parseQuery, wholeNumber } from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, bodyFrom, component, count, timestamp } from '../openapi/component.ts';
import {
  badQuery,
  example,
  found,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { RUN } from '../otlp/otlp-examples.ts';
import { ruleId } from '../rules/rule-schema.ts';

const DAYS_DEFAULT = 30;
const DAYS_MAX = 90;
const DAY_MS = 86_400_000;
const NAME_CHARS_MAX = 256;

export const entityQuery = z.object({
  kind: z.enum(ENTITY_KIND_NAMES).describe('What the name is of.'),
  name: z.string().max(NAME_CHARS_MAX).describe('The whole name, as runs have it.'),
  days: wholeNumber(1, DAYS_MAX, DAYS_DEFAULT).describe('Days before now whose runs are read.'),
});

export const rangeOfDays = (days: number, nowMs: number) => ({
  since: new Date(nowMs - days * DAY_MS),
  until: new Date(nowMs),
});

const usage = usageInApi((field) =>
  (field === 'costUsd' ? z.number() : z.int())
    .min(0)
    .nullable()
    .describe('As senders report it; null if none does.'),
);
const milliseconds = (what: string) => z.number().nullable().describe(`${what}, in milliseconds.`);

const entityDay = z.object({
  day: z.iso.date(),
  runs: count('Runs.'),
  errors: count('Runs that failed.'),
  ...usage,
});

const entityRule = z.object({
  rule_id: ruleId,
  severity: z.enum(SEVERITIES),
  findings: count('Findings.'),
  false_positives: count('Findings with this state.'),
  last_at: timestamp('When the last one was stored.'),
});

const entity = component(
  'Entity',
  z
    .object({
      kind: z.enum(ENTITY_KIND_NAMES),
      name: z.string(),
      runs: count('Its runs.'),
      errors: count('Runs that failed.'),
      not_evaluated: count('Runs that no rule was matched against yet.'),
      duration_p50: milliseconds('Median duration of its finished runs'),
      duration_p95: milliseconds('95th percentile of their duration'),
      ...usage,
      first_seen_at: timestamp('First arrival of a run of the range.').nullable(),
      last_seen_at: timestamp('Last arrival.').nullable(),
      days: z.array(entityDay).describe('UTC days with runs, the oldest first.'),
      names: z
        .object(
          Object.fromEntries(
            ENTITY_KIND_NAMES.map((kind) => [
              kind,
              z.array(z.object({ name: z.string(), runs: count('Runs.') })),
            ]),
          ),
        )
        .describe('Names that its runs have, the most frequent first, at most 20 of a kind.'),
      rules: z
        .array(entityRule)
        .describe('Rules with findings in its runs; of a tool or server, in its calls.'),
      read_to: timestamp('Runs that arrived before were not read; null when all were.').nullable(),
    })
    .describe('The runs of an agent, service, user, session, model, tool or MCP server, counted.'),
);

export function showEntity({ db, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const { kind, name, days } = parseQuery(entityQuery, exchange.query);
    const { since, until } = rangeOfDays(days, nowMs());
    const reader = { workspaceId, signal: exchange.signal };
    const facts = await db.read(readEntity, reader, { kind, name }, since, until);
    const body = bodyFrom(entity, {
      ...facts,
      kind,
      name,
      durationP50: facts.p50,
      durationP95: facts.p95,
      firstSeenAt: facts.firstSeen,
      lastSeenAt: facts.lastSeen,
      days: facts.days.map((day) => bodyFrom(entityDay, day)),
      rules: facts.rules.map((rule) =>
        bodyFrom(entityRule, { ...rule, falsePositives: rule.dismissed }),
      ),
    });
    return json(body);
  };
}

const AT = '2025-11-20T12:00:03.000Z';
const TOKENS = usageInApi(() => null);
const EXAMPLE: BodyOf<typeof entity> = {
  kind: 'agent',
  name: RUN.agent,
  runs: 1,
  errors: 0,
  not_evaluated: 0,
  duration_p50: 2500,
  duration_p95: 2500,
  ...TOKENS,
  first_seen_at: AT,
  last_seen_at: AT,
  days: [{ day: '2025-11-20', runs: 1, errors: 0, ...TOKENS }],
  names: {
    agent: [{ name: RUN.agent, runs: 1 }],
    service: [{ name: RUN.agent, runs: 1 }],
    user: [],
    session: [],
    model: [{ name: RUN.model, runs: 1 }],
    tool: [{ name: RUN.tool, runs: 1 }],
    mcp_server: [],
  },
  rules: [],
  read_to: null,
};

export const ENTITY_OPERATION: Operation = {
  ...READ,
  path: '/platform/v1/entities',
  operationId: 'getEntity',
  tag: 'Runs',
  summary: 'Show an agent, user, tool …',
  description:
    'Runs, errors, durations, tokens and cost, findings and neighbours of an agent, service, user, session, model, tool ' +
    'or MCP server. The newest 10,000 runs of the range are read.',
  query: entityQuery,
  queryExamples: { kind: 'agent', name: RUN.agent, days: '30' },
  responses: {
    ...found('Its runs, counted.', entity, [example('agent', 'An agent.', EXAMPLE)]),
    ...READ_REFUSALS,
    ...badQuery('days', `must be a whole number from 1 to ${DAYS_MAX}, in digits`),
  },
};
