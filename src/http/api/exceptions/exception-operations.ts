/** The exceptions in `/openapi.json`. */

import type { Operation } from '../openapi/operation.ts';
import { badQuery, example, found, READ, READ_REFUSALS } from '../openapi/shared-answers.ts';
import { exceptionsQuery, toException } from './exception-routes.ts';
import { exceptionList } from './exception-schema.ts';

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
