/** `GET /platform/v1/tools` and `/platform/v1/tools/{toolId}`: the inventory of tools: queries, routes, bodies, operations. */
import { z } from 'zod';
import { findTool, listTools as readTools } from '../../../db/tools/tool-list.ts';
import { SluiceError } from '../../../errors.ts';
import type { ListedTool, ToolPage } from '../../../model/shown/tools.ts';
import { json } from '../../transport/answers.ts';
import {
  flag,
  idOf,
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
  idParameter,
  notFound,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { RUN, STORED_AT, TRACE_ID } from '../otlp/otlp-examples.ts';

const NAME_CHARS_MAX = 256;
const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

const name = (what: string) => z.string().max(NAME_CHARS_MAX).optional().describe(what);

export const toolsQuery = z.object({
  agent: name('Only tools of this agent, or of this service where no agent is named.'),
  mcp_server: name('Only tools of this MCP server.'),
  name: name('Only tools with this name.'),
  changed: flag
    .optional()
    .describe('`true`: only tools with a change that nobody has marked as seen, the latest first.'),
  cursor: pageCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Tools on a page.'),
});

const identity = {
  id: hex16('Of agent, MCP server and name.'),
  agent: z.string().describe('The agent, or else the service; empty if neither is named.'),
  mcp_server: z
    .string()
    .nullable()
    .describe('Empty where the sender does not name it; null where the workspace redacts.'),
  name: z.string().nullable().describe('Null where the workspace redacts.'),
};

const tool = z.object({
  ...identity,
  version: count('Number of its newest version, from 1.'),
  versions: count('Versions that are kept, the newest ones.'),
  first_seen_at: timestamp('When its oldest version that is kept was first seen.'),
  last_seen_at: timestamp('When a run last sent it, to within ten minutes.'),
  changes: count('Changes that nobody has marked as seen.'),
  changed_at: timestamp('When its last change was first seen.').nullable(),
});

export const toolList = component(
  'ToolList',
  z
    .object({
      tools: z.array(tool),
      next_cursor: nextCursor,
      is_full: z.boolean().describe('The workspace has as many definitions as are kept.'),
      left_out: count('Most definitions that one run sent and that were not kept.'),
    })
    .describe('Tools as agents send them to their model, and as MCP servers list them.'),
);

const size = (what: string) => count(`Characters of the ${what}; the text may be cut.`);

const toolVersion = z.object({
  version: count('From 1, in the order in which they were first seen.'),
  is_change: z.boolean().describe('The tool never had this description or schema before.'),
  first_seen_at: timestamp('When a run first sent it.'),
  last_seen_at: timestamp('When a run last sent it, to within ten minutes.'),
  first_run_id: hex16('The run that sent it first.'),
  runs: count('Stored runs that sent it.'),
  runs_is_exact: z.boolean().describe('False: more runs than were counted.'),
  newest_run_ids: z.array(hex16('A run that sent it.')),
  acknowledged_at: timestamp('When a user marked the change as seen.').nullable(),
  acknowledged_by: z.string().nullable().describe('E-mail address at that time.'),
  description: z
    .string()
    .nullable()
    .describe('Untrusted text. Null where the sender sends none, or the workspace redacts.'),
  description_chars: size('description'),
  schema: z
    .string()
    .nullable()
    .describe('JSON with sorted keys; its beginning if it is long. Untrusted text.'),
  schema_chars: size('schema'),
});

export const toolBody = component(
  'Tool',
  z
    .object({
      ...identity,
      versions: z.array(toolVersion).describe('The newest first, at most 20.'),
    })
    .describe('A tool and its definitions. A change of one is no finding.'),
);

const toListed = (one: ListedTool): BodyOf<typeof tool> =>
  bodyFrom(tool, { ...one, mcpServer: one.server });

function toBody({ tool, versions }: ToolPage): BodyOf<typeof toolBody> {
  return bodyFrom(toolBody, {
    ...tool,
    mcpServer: tool.server,
    versions: versions.map((one) =>
      bodyFrom(toolVersion, { ...one, runsIsExact: one.isExact, newestRunIds: one.newestRuns }),
    ),
  });
}

/** `GET /platform/v1/tools` */
export function listTools({ db }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(toolsQuery, exchange.query);
    const { cursor = null, limit, agent, name, changed, mcp_server: server } = query;
    const reader = { workspaceId, signal: exchange.signal };
    const filter = { agent, server, name, changed };
    const listed = await db.read(readTools, reader, filter, skippedBy(cursor), limit);
    const nextCursor = toCursor(toSkipCursor(listed.next));
    const tools = listed.tools.map(toListed);
    return json(bodyFrom(toolList, { ...listed, tools, nextCursor }));
  };
}

/** `GET /platform/v1/tools/{toolId}` */
export function showTool({ db }: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }, { toolId }) => {
    const id = idOf(toolId);
    const page = id === null ? null : await db.find(findTool, workspaceId, id);
    if (page === null) throw new SluiceError('not_found', 'This workspace has no such tool.');
    return json(toBody(page));
  };
}

const TOOL_ID = '3f1d8a4be1f34c0f9b6f2a1d5e8c3b42';
const EXAMPLE: ListedTool = {
  id: TOOL_ID,
  agent: RUN.agent,
  server: '',
  name: RUN.tool,
  version: 1,
  versions: 1,
  firstSeenAt: STORED_AT,
  lastSeenAt: STORED_AT,
  changes: 0,
  changedAt: null,
};
const LIST_EXAMPLE: BodyOf<typeof toolList> = {
  tools: [toListed(EXAMPLE)],
  next_cursor: null,
  is_full: false,
  left_out: 0,
};
const DESCRIPTION = 'Finds an order by its number.';
const SCHEMA = '{"properties":{"number":{"type":"string"}},"type":"object"}';
const TOOL_EXAMPLE = toBody({
  tool: { ...EXAMPLE, isRedacted: false },
  versions: [
    {
      id: TOOL_ID,
      version: 1,
      isChange: false,
      firstSeenAt: STORED_AT,
      lastSeenAt: STORED_AT,
      firstRunId: TRACE_ID,
      runs: 1,
      isExact: true,
      newestRuns: [TRACE_ID],
      acknowledgedAt: null,
      acknowledgedBy: null,
      description: DESCRIPTION,
      schema: SCHEMA,
      descriptionChars: DESCRIPTION.length,
      schemaChars: SCHEMA.length,
      descriptionHash: null,
      schemaHash: null,
    },
  ],
});

export const TOOL_OPERATIONS: readonly Operation[] = [
  {
    ...READ,
    path: '/platform/v1/tools',
    operationId: 'listTools',
    tag: 'Runs',
    summary: 'List tools',
    description:
      'The tools that agents send to their model or MCP servers list, by agent, MCP server and name. Of each the newest 20 definitions are kept.',
    query: toolsQuery,
    queryExamples: {
      agent: RUN.agent,
      mcp_server: 'mail',
      name: RUN.tool,
      changed: 'true',
      limit: '50',
    },
    responses: {
      ...found('A page of tools.', toolList, [example('tools', 'One tool.', LIST_EXAMPLE)]),
      ...READ_REFUSALS,
      ...badQuery('limit', `must be a whole number from 1 to ${LIMIT_MAX}, in digits`),
    },
  },
  {
    ...READ,
    path: '/platform/v1/tools/{toolId}',
    operationId: 'getTool',
    tag: 'Runs',
    summary: 'Show a tool',
    description: 'The definitions of a tool, the newest first, with the runs that sent each.',
    parameters: [idParameter('toolId', 'The id of the tool.', TOOL_ID)],
    responses: {
      ...found('The tool.', toolBody, [example('tool', 'A tool.', TOOL_EXAMPLE)]),
      ...READ_REFUSALS,
      ...notFound('This workspace has no such tool.'),
    },
  },
];
