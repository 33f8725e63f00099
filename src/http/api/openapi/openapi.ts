/**
 * `/openapi.json`: the public interface as an OpenAPI 3.1 document, made at start from the resources'
 * operations and their zod objects. The dashboard and the documentation are not in it.
 */
import type { KeyKind } from '../../../model/people.ts';
import type {
  ApiContent,
  ApiDocument,
  ApiHeader,
  ApiMethod,
  ApiOperation,
  ApiParameter,
  ApiResponse,
  ApiServer,
} from '../../../web/docs/api-document.ts';
import { JSON_TYPE } from '../../transport/answers.ts';
import type { Answer, Exchange } from '../../transport/exchange.ts';
import type { Route } from '../../transport/router.ts';
import { ENTITY_OPERATION } from '../entities/entity-routes.ts';
import { EXCEPTION_OPERATIONS } from '../exceptions/exception-routes.ts';
import { findingOperations } from '../findings/finding-routes.ts';
import { PROBE_OPERATIONS } from '../open/probe-routes.ts';
import { ingestOperations } from '../otlp/otlp-operations.ts';
import { PROVIDER_OPERATION } from '../providers/providers.ts';
import { ruleOperations } from '../rules/rule-routes.ts';
import { runOperations, runSearchOperations } from '../runs/run-routes.ts';
import { LOG_OPERATION } from '../telemetry/log-routes.ts';
import { METRIC_OPERATIONS } from '../telemetry/metric-routes.ts';
import { TOOL_OPERATIONS } from '../tools/tool-routes.ts';
import { componentSchemas, schemaOf } from './component.ts';
import type { ApiSettings, Content, Operation, ResponseEntry } from './operation.ts';

const OPENAPI_VERSION = '3.1.1';

const TAGS = [
  { name: 'Ingest', description: 'Send telemetry: OTLP/HTTP with JSON bodies, with an agent key.' },
  { name: 'Risk findings', description: 'What the rules found in finished runs.' },
  { name: 'Evidence', description: 'Signed files of a finding or an incident.' },
  { name: 'Runs', description: 'Agent runs and their steps.' },
  { name: 'Logs and metrics', description: 'Log records and metrics as they were sent.' },
  {
    name: 'Threat rules',
    description: 'The rules of the pinned corpus, and which of them run in this workspace.',
  },
  {
    name: 'Setup and probes',
    description: 'Configuration of the deployment, health and readiness.',
  },
];

const DESCRIPTION = `Telemetry of AI agents comes in over OTLP/HTTP with JSON bodies; threat rules are matched against
the text of finished runs; findings, runs and rules are read here.

Keys go into the header \`Authorization: Bearer <API_KEY>\`. Agent keys send, workspace keys read. A path that is not
served answers 404, a method that a path does not take 405 with \`Allow\`; ids of other workspaces are not found.
Errors are problem details (RFC 9457), on ingest google.rpc.Status. Answers may get more members; unknown ones are to
be ignored. Every path that answers GET answers HEAD as well, with the same status and headers and no body. A slash at
the end of a path makes no difference.

The read API answers 400 for a query parameter that it does not know, or that is given twice; an empty value counts as
absent. There are two ways of paging. Findings and runs arrive while they are read: send \`next_cursor\` back as
\`cursor\`, with the same filters, until it is null. The rules change only with the program: \`page\` and \`per_page\` choose
a page, \`total_pages\` says how many there are.

The routes under \`/app\` are the dashboard's: they need a signed-in user, refuse every key, change with the dashboard,
and are left out here.`;

export function operationsOf(settings: ApiSettings): readonly Operation[] {
  return [
    ...ingestOperations(settings),
    ...ruleOperations(settings),
    ...findingOperations(settings),
    ...EXCEPTION_OPERATIONS,
    ...runOperations(settings),
    ...runSearchOperations(settings),
    ENTITY_OPERATION,
    ...TOOL_OPERATIONS,
    LOG_OPERATION,
    ...METRIC_OPERATIONS,
    PROVIDER_OPERATION,
    ...PROBE_OPERATIONS,
  ];
}

function contentOf({ schema, examples }: Content): ApiContent {
  const byName = examples.map(({ name, ...example }) => [name, example] as const);
  return {
    schema: schemaOf(schema),
    ...(byName.length === 0 ? {} : { examples: Object.fromEntries(byName) }),
  };
}

const contentsOf = (contents: readonly Content[]) =>
  Object.fromEntries(contents.map((content) => [content.mediaType, contentOf(content)]));

function responseOf({ description, headers = [], contents }: ResponseEntry): ApiResponse {
  const named = headers.map(({ name, description, schema }): [string, ApiHeader] => [
    name,
    { description, required: true, schema: schemaOf(schema) },
  ]);
  return {
    description,
    ...(named.length === 0 ? {} : { headers: Object.fromEntries(named) }),
    content: contentsOf(contents),
  };
}

/** The parameters of a query, as the zod object that parses it has them. */
function queryParameters({ query, queryExamples = {} }: Operation): ApiParameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(query);
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => {
    const text = queryExamples[name];
    const isNumber = schema.type === 'integer';
    return {
      name,
      in: 'query',
      required: required.includes(name),
      description,
      schema,
      ...(text === undefined ? {} : { example: isNumber ? Number(text) : text }),
    };
  });
}

function parametersOf(operation: Operation): ApiParameter[] {
  const others = (operation.parameters ?? []).map(({ schema, ...parameter }): ApiParameter => {
    const { description: _said, ...rest } = schemaOf(schema);
    return { ...parameter, required: parameter.in === 'path', schema: rest };
  });
  return [...others, ...queryParameters(operation)];
}

const SECURITY = {
  none: [],
  agent: [{ agentKey: [] }],
  workspace: [{ workspaceKey: [] }],
  any: [{ agentKey: [] }, { workspaceKey: [] }],
} as const satisfies Record<KeyKind | 'any' | 'none', ApiOperation['security']>;

type Servers = Readonly<Record<'base' | 'observe', ApiServer>>;

function operationOf(operation: Operation, servers: Servers): ApiOperation {
  const { operationId, tag, summary, description, auth, hosts, body, responses } = operation;
  const isOnBaseOnly = hosts.length === 1 && hosts[0] === 'base';
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: SECURITY[auth],
    ...(isOnBaseOnly ? {} : { servers: hosts.map((host) => servers[host]) }),
    parameters: parametersOf(operation),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: body.description,
            content: contentsOf([body]),
          },
        }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, responseOf(response)]),
    ),
  };
}

function keyScheme(what: string, prefixes: string) {
  return { type: 'http', scheme: 'bearer', description: `${what}, ${prefixes}.` } as const;
}

export function createApiDocument(settings: ApiSettings): ApiDocument {
  const { baseUrl, observeUrl, brand, version } = settings;
  const servers: Servers = {
    base: { url: baseUrl, description: 'All paths.' },
    observe: { url: observeUrl, description: "OTLP's default paths, and the probes." },
  };
  const paths: Record<string, Partial<Record<ApiMethod, ApiOperation>>> = {};
  for (const operation of operationsOf(settings)) {
    const method = operation.method === 'GET' ? 'get' : 'post';
    paths[operation.path] = {
      ...paths[operation.path],
      [method]: operationOf(operation, servers),
    };
  }
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: `${brand} API`,
      version,
      summary: 'Telemetry ingest and threat rules for AI agents.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [servers.base],
    tags: TAGS,
    paths,
    components: {
      schemas: componentSchemas(paths),
      securitySchemes: {
        agentKey: keyScheme('A key that sends', `\`${brand}_live_…\` or \`${brand}_obs_…\``),
        workspaceKey: keyScheme('A key that reads', `\`${brand}_key_…\``),
      },
    },
  };
}

/** @param document called at the first request */
export function apiDocumentRoute(document: () => ApiDocument): Route {
  let answer: Answer | undefined;
  const handler = (exchange: Exchange): void => {
    answer ??= {
      status: 200,
      contentType: JSON_TYPE,
      headers: [['cache-control', 'public, max-age=300']],
      body: Buffer.from(JSON.stringify(document())),
      isShared: true,
    };
    exchange.answer(answer);
  };
  return { method: 'GET', path: '/openapi.json', handler };
}
