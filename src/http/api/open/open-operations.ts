/** The probes in `/openapi.json`: operations without a key. */
import { z } from 'zod';
import { JSON_TYPE } from '../../transport/problem.ts';
import type { Operation } from '../openapi/operation.ts';
import { found } from '../openapi/shared-answers.ts';
import { health, notReady, ready } from './probe-routes.ts';

const open = { method: 'GET', auth: 'none', hosts: ['base'] } as const;

const PASSING = {
  db: 'ok',
  migrations: 'ok',
  corpus: 'ok',
  clock: 'ok',
  pass: 'ok',
  workspace: 'ok',
  accepting: 'ok',
};

export const PROBE_OPERATIONS: readonly Operation[] = [
  {
    ...open,
    hosts: ['base', 'observe'],
    path: '/health',
    operationId: 'getHealth',
    tag: 'Setup and probes',
    summary: 'Health check',
    description: 'Answers 200 as long as the process runs, even if the database is down.',
    responses: found('The process is up.', health, [
      { name: 'healthy', summary: 'The process is up.', value: { status: 'healthy' } },
    ]),
  },
  {
    ...open,
    hosts: ['base', 'observe'],
    path: '/ready',
    operationId: 'getReadiness',
    tag: 'Setup and probes',
    summary: 'Readiness check',
    description: 'Runs every probe, at most once a second.',
    responses: {
      ...found('Every probe passes.', ready, [
        {
          name: 'ready',
          summary: 'Every probe passes.',
          value: { status: 'ready', probes: PASSING },
        },
      ]),
      503: {
        description: 'At least one probe fails; `failing` names them.',
        headers: [
          {
            name: 'Retry-After',
            description: 'Seconds to wait before the next attempt.',
            schema: z.int().min(1),
          },
        ],
        contents: [
          {
            mediaType: JSON_TYPE,
            schema: notReady,
            examples: [
              {
                name: 'database_away',
                summary: 'The database does not answer.',
                value: {
                  status: 'not_ready',
                  failing: ['db'],
                  probes: { ...PASSING, db: 'timeout' },
                },
              },
            ],
          },
        ],
      },
    },
  },
];
