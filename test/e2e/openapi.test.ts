/**
 * `/openapi.json` of a running server, taken at its word: every request example is sent, every
 * parameter's example is sent, every documented status but outages is provoked, and every answer
 * is of the documented form and, where there is an example, that example.
 *
 * The trace example is sent first; what the pass finds in it is what the read examples show.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { createRuleBook } from '../../src/engine/rules/rule-book.ts';
import { FINDINGS_EXAMPLE_QUERY } from '../../src/http/api/findings/finding-routes.ts';
import { operationsOf } from '../../src/http/api/openapi/openapi.ts';
import type { ApiSettings, Operation } from '../../src/http/api/openapi/operation.ts';
import { TRACE_ID } from '../../src/http/api/otlp/otlp-examples.ts';
import { RULES_EXAMPLE_QUERY } from '../../src/http/api/rules/rule-routes.ts';
import { RUNS_EXAMPLE_QUERY } from '../../src/http/api/runs/run-routes.ts';
import { type KeyKind, RATE_LIMIT_MAX } from '../../src/model/people.ts';
import type { ApiDocument, ApiOperation } from '../../src/web/docs/api-document.ts';
import { LOCAL, lint } from '../http/api/openapi/openapi-lint.ts';
import { someOf } from '../support/cases.ts';
import { findFreePort } from '../support/sockets.ts';
import { storeTool } from '../support/stored-tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Answer, type Gateway, openGateway, read, request } from './gateway.ts';

const WITHIN_MS = 60_000;
const MAX_BODY_BYTES = 65_536;
/** Only names and schemas are read of it; neither depends on a deployment. */
const OPERATIONS: readonly Operation[] = operationsOf({
  baseUrl: '',
  observeUrl: '',
  bareOtlpOnBase: 'gone',
  brand: 'sluice',
  version: '',
  maxBodyBytes: 0,
  maxDecodedBodyBytes: 0,
  book: createRuleBook({
    snapshot: { version: '', date: '', files: 0, sha256: '', identity: '' },
    rules: [],
  }) satisfies ApiSettings['book'],
});
const ids = OPERATIONS.map(({ operationId }) => operationId);
const entryOf = (operationId: string): Operation => {
  const found = OPERATIONS.find((one) => one.operationId === operationId);
  if (found === undefined) throw new Error(`no operation ${operationId}`);
  return found;
};

let gateway: Gateway;
let document: ApiDocument;
let findingId: string;
let toolId: string;
/** sends to a workspace that nobody reads: the run of the examples stays as it was sent */
let agentKey: string;
/** of the first workspace, with a limit that no test reaches */
let keys: Record<KeyKind, string>;

interface Described extends ApiOperation {
  readonly method: string;
  readonly path: string;
}

function described(operationId: string): Described {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (operation.operationId === operationId) return { ...operation, method, path };
    }
  }
  throw new Error(`${operationId} is not described`);
}

// ── Requests, as a reader of the document would make them ────────────────────────────────────

interface Sent {
  readonly query?: string;
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly host?: string;
  /** instead of the path parameter's example */
  readonly resource?: string;
}

/** The kind of key that an operation takes; null when it asks for none. */
function keyOf({ security }: ApiOperation): string | null {
  const [first] = security;
  if (first === undefined) return null;
  return 'agentKey' in first ? agentKey : keys.workspace;
}

function pathOf({ path, parameters }: Described, resource: string | undefined): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (resource !== undefined) return resource;
    if (name === 'findingId') return findingId;
    if (name === 'toolId') return toolId;
    return String(parameters.find((one) => one.name === name)?.example);
  });
}

async function send(operationId: string, sent: Sent = {}): Promise<Answer> {
  const operation = described(operationId);
  const { requestBody, servers = document.servers, method } = operation;
  const key = sent.key === undefined ? keyOf(operation) : sent.key;
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  const body = sent.body ?? example?.value;
  const given = new URLSearchParams(sent.query ?? '');
  const needed = operation.parameters
    .filter((one) => one.in === 'query' && one.required === true && !given.has(one.name))
    .map(({ name, example: value }) => `${name}=${encodeURIComponent(String(value))}`);
  const parts = [...(sent.query === undefined ? [] : [sent.query]), ...needed];
  const query = parts.length === 0 ? '' : `?${parts.join('&')}`;
  const url = `${sent.host ?? servers[0]?.url}${pathOf(operation, sent.resource)}${query}`;
  const answer = await request(url, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(requestBody === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    ...(requestBody === undefined
      ? {}
      : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  checkForm(operation, answer);
  return answer;
}

// ── What is documented of an answer ──────────────────────────────────────────────────────────

/** The values of a body: one, or one per line. */
function valuesOf(mediaType: string, text: string): unknown[] {
  if (mediaType === 'application/x-ndjson') {
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  }
  return [mediaType.endsWith('json') ? (JSON.parse(text) as unknown) : text];
}

/** Status, headers, media type and members are documented, and nothing else comes. */
function checkForm({ operationId, responses }: Described, { status, headers, text }: Answer): void {
  expect(Object.keys(responses), `${operationId}: ${text}`).toContain(String(status));
  const entry = entryOf(operationId).responses[status];
  const mediaType = headers.get('content-type')?.split(';', 1)[0] ?? '';
  const content = entry?.contents.find((one) => one.mediaType === mediaType);
  expect(content, `${operationId} ${status} ${mediaType}`).toBeDefined();
  for (const value of valuesOf(mediaType, text)) {
    // zod leaves out what a schema does not name.
    expect(content?.schema.parse(value), `${operationId} ${status}`).toEqual(value);
  }
  for (const { name, schema } of entry?.headers ?? []) {
    const value = headers.get(name) ?? '';
    expect(schema.safeParse(/^\d+$/.test(value) ? Number(value) : value).error, name).toBe(
      undefined,
    );
  }
}

/** The example of an answer, as the served document has it. */
function example(operationId: string, status: number, name?: string): unknown {
  const contents = Object.values(described(operationId).responses[status]?.content ?? {});
  const examples = contents.flatMap((one) => Object.entries(one.examples ?? {}));
  const found = name === undefined ? examples[0] : examples.find(([key]) => key === name);
  if (found === undefined) throw new Error(`${operationId} ${status} has no example ${name}`);
  return found[1].value;
}

/** Ids and times that differ from run to run. */
const VOLATILE = new Set([
  'url',
  'src_url',
  'id',
  'uid',
  'created_at',
  'time',
  'created_time',
  'first_arrived_at',
  'last_arrived_at',
  'evaluated_at',
  'last_seen_at',
]);

function steady(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      VOLATILE.has(name) && !String(member).startsWith('ATR-') && member !== TRACE_ID
        ? typeof member
        : member,
    ),
  );
}

const hasStatus = (status: number): string[] =>
  OPERATIONS.filter(({ responses }) => status in responses).map(({ operationId }) => operationId);

beforeAll(async () => {
  gateway = await openGateway({
    PORT: String(await findFreePort()),
    OBSERVE_PORT: String(await findFreePort()),
    MAX_BODY_BYTES: String(MAX_BODY_BYTES),
    OAUTH_GOOGLE_CLIENT_ID: 'id',
    OAUTH_GOOGLE_CLIENT_SECRET: 'secret',
    OAUTH_GITHUB_CLIENT_ID: 'id',
    OAUTH_GITHUB_CLIENT_SECRET: 'secret',
  });
  const answer = await request(`${gateway.server.baseUrl}/openapi.json`);
  document = JSON.parse(answer.text) as ApiDocument;
  agentKey = (await gateway.addWorkspace('unread')).agent;
  keys = {
    agent: await gateway.addKey('agent', RATE_LIMIT_MAX),
    workspace: await gateway.addKey('workspace', RATE_LIMIT_MAX),
  };
  const { id } = await findWorkspace(gateway.database, 'default');
  toolId = await storeTool(gateway.database, id, 'send_mail');
  await send('ingestTraces', { key: keys.agent });
  const list = `${gateway.server.baseUrl}/platform/v1/risk-findings?${FINDINGS_EXAMPLE_QUERY}`;
  findingId = await waitFor(
    async () => {
      const page = await read<{ findings: { id: string }[] }>(list, keys.workspace);
      return page.findings[0]?.id;
    },
    { withinMs: WITHIN_MS, what: 'the example run has its finding' },
  );
  await waitFor(async () => (await send('exportFindings')).text !== '', {
    withinMs: WITHIN_MS,
    what: 'the finding is settled, and exported',
  });
});
afterAll(() => gateway.close());

describe('the document', () => {
  test('is served to everybody, to be kept for a while, and the linter finds nothing', async () => {
    const answer = await request(`${gateway.server.baseUrl}/openapi.json`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(document.servers.map(({ url }) => url)).toEqual([gateway.server.baseUrl]);
    expect(await lint(document, LOCAL)).toEqual([]);
  });

  test('describes the operations that are tried here', () => {
    const all = Object.values(document.paths).flatMap((item) => Object.values(item));
    expect(all.map(({ operationId }) => operationId)).toEqual(ids);
  });
});

describe('200', () => {
  test.each(ids)('%s', async (operationId) => {
    expect((await send(operationId)).status).toBe(200);
  });

  test.each(
    OPERATIONS.flatMap(({ operationId, body }) =>
      (body?.examples ?? []).map(({ name }) => [operationId, name] as const),
    ),
  )('%s: the request example %s has the answer of that name', async (operationId, name) => {
    const { requestBody } = described(operationId);
    const sent = requestBody?.content['application/json']?.examples?.[name]?.value;
    const { status, text } = await send(operationId, { body: sent });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual(example(operationId, 200, name));
  });

  test.each(OPERATIONS.filter(({ query }) => query !== undefined).map((one) => one.operationId))(
    '%s takes the example of each parameter, alone and together',
    async (operationId) => {
      const { parameters } = described(operationId);
      const inQuery = parameters.filter((one) => one.in === 'query');
      const pairs = inQuery
        .filter((one) => one.example !== undefined)
        .map(({ name, example: value }) => `${name}=${encodeURIComponent(String(value))}`);
      for (const query of [...pairs, pairs.join('&')]) {
        expect((await send(operationId, { query })).status, query).toBe(200);
      }
      const without = inQuery.filter((one) => one.example === undefined);
      expect(['cursor', 'after']).toEqual(expect.arrayContaining(without.map(({ name }) => name)));
    },
  );

  test('a list continues with its cursor, an export after its finding', async () => {
    const first = JSON.parse((await send('listFindings', { query: 'limit=1' })).text);
    const query = `limit=1&cursor=${first.next_cursor}`;
    const second = JSON.parse((await send('listFindings', { query })).text);
    expect(second.findings).toHaveLength(1);
    const last = first.findings[0].id as string;
    expect((await send('exportFindings', { query: `after=${last}` })).text).toBe('');
  });

  test('every rule of the corpus is of the documented form', async () => {
    await send('listRules', { query: 'per_page=500' });
    await send('listRules', { query: 'per_page=500&page=2' });
  });

  test.each([
    ['getHealth', undefined],
    ['getReadiness', undefined],
    ['listOAuthProviders', undefined],
    ['getRuleSettings', undefined],
    ['getRule', undefined],
    ['listRules', RULES_EXAMPLE_QUERY],
    ['listFindings', FINDINGS_EXAMPLE_QUERY],
    ['exportFindings', FINDINGS_EXAMPLE_QUERY],
    ['getFinding', undefined],
    ['listRuns', RUNS_EXAMPLE_QUERY],
    ['getRun', undefined],
  ])('%s answers its example', async (operationId, query) => {
    const { text, headers } = await send(operationId, query === undefined ? {} : { query });
    const [value] = valuesOf(headers.get('content-type') ?? '', text);
    expect(steady(value)).toEqual(steady(example(operationId, 200)));
  });
});

describe('400', () => {
  const isIngest = (operationId: string): boolean => entryOf(operationId).body !== undefined;

  test.each(hasStatus(400).filter((one) => !isIngest(one)))('%s', async (operationId) => {
    const expected = example(operationId, 400) as { errors: [{ path: string }] };
    const [{ path }] = expected.errors;
    const query = path === 'after' ? `after=${'0'.repeat(32)}` : `${path}=501`;
    const answer = await send(operationId, { query });
    expect(JSON.parse(answer.text)).toEqual(expected);
  });

  const reads = OPERATIONS.filter(({ auth, body }) => auth !== 'none' && body === undefined);
  test.each(reads.map(({ operationId }) => operationId))(
    '%s: what is unknown, repeated or not valid is named',
    async (operationId) => {
      const known = described(operationId).parameters.filter((one) => one.in === 'query');
      const names = known.map(({ name }) => name);
      const faults = async (query: string) => {
        const answer = await send(operationId, { query });
        expect(answer.status, query).toBe(400);
        const { errors, reason } = JSON.parse(answer.text);
        expect(reason).toBe('bad_query');
        return errors as { path: string; message: string }[];
      };
      const list = names.length === 0 ? 'there are none here' : `known are ${names.join(', ')}`;
      expect(await faults('severty=critical')).toEqual([
        { path: 'severty', message: `is unknown; ${list}` },
      ]);
      for (const { name, schema, example = 'x' } of known) {
        const value = encodeURIComponent(String(example));
        const repeated = await faults(`${name}=${value}&${name}=${value}`);
        expect(repeated).toContainEqual({ path: name, message: 'is given more than once' });
        expect(await faults(`${name}=%00`)).toMatchObject([{ path: name }]);
        if (schema.type !== 'integer') continue;
        for (const number of ['1e3', '1.0', '0x1', '-1', '99999999999999999999']) {
          expect(await faults(`${name}=${number}`)).toMatchObject([{ path: name }]);
        }
      }
    },
  );

  test.each(reads.filter(({ path }) => path.includes('{')).map(({ operationId }) => operationId))(
    '%s: a control character in the path is a fault of the path',
    async (operationId) => {
      const answer = await send(operationId, { resource: 'a%00b' });
      expect([answer.status, JSON.parse(answer.text).reason]).toEqual([400, 'bad_path']);
    },
  );

  test.each(hasStatus(400).filter(isIngest))('%s', async (operationId) => {
    const expected = example(operationId, 400) as {
      details: [{ fieldViolations: [{ field: string }] }];
    };
    const [{ field }] = expected.details[0].fieldViolations;
    const answer = await send(operationId, { body: { [field]: {} } });
    expect(JSON.parse(answer.text)).toEqual(expected);
    expect((await send(operationId, { body: '{' })).status).toBe(400);
  });
});

describe('who may', () => {
  test.each(hasStatus(401))('%s: 401', async (operationId) => {
    const none = await send(operationId, { key: null });
    expect(JSON.parse(none.text)).toEqual(example(operationId, 401, 'missing_credential'));
    const unknown = await send(operationId, { key: `sluice_key_${'A'.repeat(43)}` });
    expect(JSON.parse(unknown.text)).toEqual(example(operationId, 401, 'invalid_credential'));
  });

  test.each(hasStatus(403))('%s: 403', async (operationId) => {
    const { auth } = entryOf(operationId);
    const key = auth === 'agent' ? keys.workspace : keys.agent;
    const answer = await send(operationId, { key });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toEqual(example(operationId, 403));
  });

  test('an operation for any key takes either', async () => {
    for (const key of [keys.agent, keys.workspace]) {
      expect((await send('listOAuthProviders', { key })).status).toBe(200);
    }
  });

  test('429, with the numbers of the key', async () => {
    const limited = {
      agent: await gateway.addKey('agent', 1),
      workspace: await gateway.addKey('workspace', 1),
    };
    const numbersOut = (value: unknown) =>
      JSON.stringify(value).replace(/\d+ requests/, 'requests');
    for (const operationId of someOf(hasStatus(429))) {
      const { auth } = entryOf(operationId);
      const key = auth === 'agent' ? limited.agent : limited.workspace;
      // The first request of a minute is admitted; one of three in a row is not that.
      const answer = await waitFor(
        async () => {
          const tried = await send(operationId, { key });
          return tried.status === 429 && tried;
        },
        { withinMs: WITHIN_MS, what: `${operationId} is refused` },
      );
      const expected = example(operationId, 429);
      expect(numbersOut(JSON.parse(answer.text))).toBe(numbersOut(expected));
    }
  });
});

test.each(ids)('%s answers HEAD as GET, without a body', async (operationId) => {
  const { method, path } = described(operationId);
  if (method !== 'get') {
    expect(path).toMatch(/\/(ingest\/otel|v1)\//);
    return;
  }
  const url = `${gateway.server.baseUrl}${pathOf(described(operationId), undefined)}`;
  const key = keyOf(described(operationId));
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const [get, head] = [
    await request(url, { headers }),
    await request(url, { headers, method: 'HEAD' }),
  ];
  expect([head.status, head.text]).toEqual([get.status, '']);
  expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
});

describe('other refusals', () => {
  const missing: Readonly<Record<string, string>> = {
    getRule: 'ATR-2026-99999',
    getFinding: '0'.repeat(32),
    getFindingEvidence: '0'.repeat(32),
    getIncidentEvidence: '0'.repeat(32),
    getRun: '0'.repeat(32),
    getTool: '0'.repeat(32),
    exportRun: '0'.repeat(32),
  };
  test('every operation with a 404 is tried', () => {
    expect(Object.keys(missing).toSorted()).toEqual(hasStatus(404).toSorted());
  });
  test.each(Object.entries(missing))('%s: 404', async (operationId, resource) => {
    const answer = await send(operationId, { resource });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toEqual(example(operationId, 404));
  });

  test.each(hasStatus(410))('%s: 410 on the base host, without a key', async (operationId) => {
    const answer = await send(operationId, { host: gateway.server.baseUrl, key: null });
    expect(answer.status).toBe(410);
    expect(JSON.parse(answer.text)).toEqual(example(operationId, 410));
  });

  test.each(hasStatus(413))('%s: 413', async (operationId) => {
    const answer = await send(operationId, { body: `{"a":"${'x'.repeat(MAX_BODY_BYTES)}"}` });
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toEqual(example(operationId, 413));
  });

  test.each(hasStatus(415))('%s: 415', async (operationId) => {
    const headers = { 'content-type': 'application/x-protobuf' };
    const answer = await send(operationId, { headers });
    expect(answer.status).toBe(415);
    expect(JSON.parse(answer.text)).toEqual(example(operationId, 415));
    const encoding = await send(operationId, { headers: { 'content-encoding': 'br' } });
    expect(encoding.status).toBe(415);
  });

  test('exportRun: 409 where the workspace redacts', async () => {
    const redact = (redacts: boolean) =>
      gateway.database.query("UPDATE workspaces SET redact_excerpts = $1 WHERE slug = 'default'", [
        redacts,
      ]);
    await redact(true);
    try {
      const answer = await send('exportRun', {});
      expect(answer.status).toBe(409);
      expect(JSON.parse(answer.text)).toEqual(example('exportRun', 409));
    } finally {
      await redact(false);
    }
  });

  test('no other status is documented but outages, which other tests cause', () => {
    const statuses = OPERATIONS.flatMap(({ responses }) => Object.keys(responses));
    expect([...new Set(statuses)].toSorted()).toEqual(
      [
        '200',
        '400',
        '401',
        '403',
        '404',
        '409',
        '410',
        '413',
        '415',
        '429',
        '500',
        '503',
      ].toSorted(),
    );
  });
});
