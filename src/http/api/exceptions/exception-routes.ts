/**
 * `GET /platform/v1/finding-exceptions`: active exceptions first, of each part the newest first; its body, and the
 * operation in `/openapi.json`.
 */
import { z } from 'zod';
import { listExceptions as readExceptions } from '../../../db/findings/exceptions.ts';
import type { FindingException } from '../../../model/exceptions.ts';
import { json } from '../../transport/answers.ts';
import { parseQuery } from '../../transport/input.ts';
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
import { ruleId } from '../rules/rule-schema.ts';

const exception = component(
  'FindingException',
  z
    .object({
      id: count('Id of the exception.'),
      rule_id: ruleId,
      text: z.boolean().describe('Only matches of the same words, which are stored as a digest.'),
      tool: z
        .string()
        .nullable()
        .describe('Only matches in this tool; empty: in none; null: in any.'),
      agent: z
        .string()
        .nullable()
        .describe('Only runs of this agent; empty: of none; null: of any.'),
      service: z
        .string()
        .nullable()
        .describe('Only runs of this service; empty: of none; null: of any.'),
      reason: z.string().describe('As it was written when the exception was made.'),
      created_by: z.string().describe('E-mail address at that time.'),
      created_at: timestamp('When it was made.'),
      expires_at: timestamp('When it expires.'),
      ended_at: timestamp('When a user ended it before it expired.').nullable(),
      ended_by: z.string().nullable().describe('E-mail address at that time.'),
      is_active: z.boolean().describe('Neither ended nor expired.'),
      hidden: z
        .object({
          count: count("Findings that it hides, of the rule's newest 5,000."),
          is_exact: z.boolean().describe('False: the rule has more findings than were counted.'),
          last_at: timestamp('When the newest of them was stored.').nullable(),
        })
        .describe('What it has hidden from the default list and from alerts.'),
    })
    .describe(
      'Matches of a rule that are expected: those that have all of its parts. A finding is hidden if active exceptions cover every distinct ' +
        'match of its rule in its run. Runs are still evaluated.',
    ),
);

export const exceptionList = component(
  'FindingExceptionList',
  z.object({ exceptions: z.array(exception) }),
);

export const exceptionsQuery = z.object({
  rule_id: z
    .string()
    .regex(/^ATR-\d{4}-\d{5}$/, 'must look like ATR-2026-00001')
    .optional()
    .describe('Only exceptions of this rule.'),
  active: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('`true`: only active exceptions; `false`: only ended and expired ones.'),
});

export function toException(one: FindingException): BodyOf<typeof exception> {
  const { count, isCut, last } = one.hidden;
  const hidden = { count, is_exact: !isCut, last_at: last?.toISOString() ?? null };
  return bodyFrom(exception, { ...one, hidden });
}

/** A workspace has a bounded number of exceptions, so there are no pages. */
export function listExceptions({ db }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const { rule_id: ruleId, active } = parseQuery(exceptionsQuery, exchange.query);
    const all = await db.readFresh(readExceptions, workspaceId);
    const body: BodyOf<typeof exceptionList> = {
      exceptions: all
        .filter((one) => ruleId === undefined || one.ruleId === ruleId)
        .filter((one) => active === undefined || one.isActive === active)
        .map(toException),
    };
    return json(body);
  };
}

const EXAMPLE = toException({
  id: 1,
  ruleId: 'ATR-2026-00001',
  text: false,
  tool: null,
  agent: 'red-team',
  service: null,
  reason: 'This agent attacks on purpose.',
  createdBy: 'owner@example.com',
  createdAt: new Date('2025-11-21T10:00:00Z'),
  expiresAt: new Date('2025-12-21T10:00:00Z'),
  endedAt: null,
  endedBy: null,
  isActive: true,
  hidden: { count: 12, last: new Date('2025-11-22T09:30:00Z'), isCut: false },
});

export const EXCEPTION_OPERATIONS: readonly Operation[] = [
  {
    ...READ,
    path: '/platform/v1/finding-exceptions',
    operationId: 'listExceptions',
    tag: 'Risk findings',
    summary: 'List the exceptions',
    description:
      'Exceptions for findings that are expected: they hide them from the default list and from alerts. ' +
      'Active ones first. Up to 100 are active; the last 100 that ended are kept. Exceptions are made and ' +
      'ended in the dashboard only.',
    query: exceptionsQuery,
    queryExamples: { rule_id: 'ATR-2026-00001', active: 'true' },
    responses: {
      ...found('The exceptions of the workspace.', exceptionList, [
        example('exceptions', 'An exception for an agent.', { exceptions: [EXAMPLE] }),
      ]),
      ...READ_REFUSALS,
      ...badQuery('active', 'Invalid option: expected one of "true"|"false"'),
    },
  },
];
