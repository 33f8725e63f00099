/** The probes and the documentation in `/openapi.json`: operations without a key. */
import { z } from 'zod';
import { JSON_TYPE } from '../../transport/problem.ts';
import type { Operation, ResponseEntry } from '../openapi/operation.ts';
import { found, notFound } from '../openapi/shared-answers.ts';
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

const PROBES: readonly Operation[] = [
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

const HTML = 'text/html';
const MARKDOWN = 'text/markdown';
const PLAIN = 'text/plain';

function texts(description: string, ...mediaTypes: string[]): Record<200, ResponseEntry> {
  const contents = mediaTypes.map((mediaType) => ({
    mediaType,
    schema: z.string(),
    examples: [],
  }));
  return { 200: { description, contents } };
}

const page = (name: string, example: string) =>
  ({
    name,
    in: 'path',
    description: 'Name of the page, as in the index; append `.md` for Markdown.',
    schema: z.string().regex(/^[a-z0-9-]+(\.md)?$/),
    example,
  }) as const;

const documentation = (operation: Omit<Operation, keyof typeof open | 'tag'>): Operation => ({
  ...open,
  tag: 'Documentation',
  ...operation,
});

const DOCUMENTATION: readonly Operation[] = [
  documentation({
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    description: 'The OpenAPI description of this deployment, with its addresses.',
    responses: found(
      'OpenAPI 3.1.',
      z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
      [],
    ),
  }),
  documentation({
    path: '/llms.txt',
    operationId: 'getLlmsIndex',
    summary: 'Index of the documentation for machines',
    description: 'Links to all documentation, in the format of llmstxt.org.',
    responses: texts('The index.', PLAIN),
  }),
  documentation({
    path: '/llms-full.txt',
    operationId: 'getLlmsFull',
    summary: 'The whole documentation in one file',
    description: 'Every page as Markdown, one after the other.',
    responses: texts('The pages.', PLAIN),
  }),
  documentation({
    path: '/docs',
    operationId: 'getDocumentationIndex',
    summary: 'Index of the documentation',
    description: 'All documentation pages by topic.',
    responses: texts('The index as a page.', HTML),
  }),
  documentation({
    path: '/docs.md',
    operationId: 'getDocumentationIndexMarkdown',
    summary: 'Index of the documentation as Markdown',
    description: 'All documentation pages by topic.',
    responses: texts('The index as Markdown.', MARKDOWN),
  }),
  documentation({
    path: '/docs/{page}',
    operationId: 'getDocumentationPage',
    summary: 'A page of the documentation',
    description: 'A page as HTML; append `.md` for Markdown.',
    parameters: [page('page', 'errors.md')],
    responses: {
      ...texts('The page.', HTML, MARKDOWN),
      ...notFound('Nothing is served at this path.'),
    },
  }),
  documentation({
    path: '/docs/send/{client}',
    operationId: 'getClientPage',
    summary: 'A page about a client',
    description: 'How it is set up to send; with `.md` its Markdown twin.',
    parameters: [page('client', 'openinference.md')],
    responses: {
      ...texts('The page.', HTML, MARKDOWN),
      ...notFound('Nothing is served at this path.'),
    },
  }),
  documentation({
    path: '/docs/decisions/{decision}',
    operationId: 'getDecisionPage',
    summary: 'A page about a design decision',
    description: 'The reasons for a design decision as HTML; append `.md` for Markdown.',
    parameters: [page('decision', 'dependencies.md')],
    responses: {
      ...texts('The page.', HTML, MARKDOWN),
      ...notFound('Nothing is served at this path.'),
    },
  }),
];

export const OPEN_OPERATIONS: readonly Operation[] = [...PROBES, ...DOCUMENTATION];
