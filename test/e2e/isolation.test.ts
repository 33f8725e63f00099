/**
 * Tenants are apart: every route of the base, observe and admin listeners is called with every
 * credential of another workspace, naming this one's things wherever a path has a place for an id.
 * No answer may hold anything of this workspace, and afterwards nothing of it may have changed.
 *
 * The routes come from the server's own table: a new one without an entry here fails the test.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createDestination } from '../../src/db/alerts/destinations.ts';
import { insertInvitation } from '../../src/db/people/invitations.ts';
import { createKey } from '../../src/db/people/keys.ts';
import { addMember } from '../../src/db/people/memberships.ts';
import { createSession } from '../../src/db/people/sessions.ts';
import { insertPreview } from '../support/evaluation.ts';
import { addCommandLine, addPerson, type Person } from '../support/people.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { storeTool } from '../support/stored-tools.ts';
import { sendAttack } from './attack.ts';
import { Browser } from './browser.ts';
import {
  type Answer,
  type Gateway,
  type Keys,
  openGateway,
  post,
  randomId,
  rawSpan,
  request,
  traceBody,
} from './gateway.ts';

/** In every string of the victim. */
const MARK = 'victim';
/**
 * Numeric ids begin here, so that the victim's are numbers that occur nowhere else: an answer that
 * holds one of them holds something of the victim.
 */
const FIRST_IDS = {
  workspaces: 713_579_101,
  users: 723_579_202,
  api_keys: 733_579_303,
  invitations: 743_579_404,
  alert_destinations: 753_579_505,
  finding_exceptions: 763_579_606,
  finding_views: 773_579_707,
} as const;
const PASSWORD = 'a long enough password';

/** What a route is called with; `{name}` of its path or body is filled from the victim's ids. */
interface Ask {
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** what the victim itself is answered, which shows that the question means something */
  readonly own: number;
  /** who of the victim asks it */
  readonly as: 'agent' | 'workspace' | 'session' | 'commandLine' | 'nobody';
}

const read = (as: Ask['as']): Ask => ({ own: 200, as });
const TRACE = { resourceSpans: [] };
/** The name never resolves. */
const DESTINATION = {
  name: 'theirs',
  format: 'json',
  url: 'https://alerts.invalid/hook',
  min_severity: 'low',
};
const ASKS: Readonly<Record<string, Ask>> = {
  'POST /platform/v1/ingest/otel': { body: TRACE, own: 200, as: 'agent' },
  'POST /platform/v1/ingest/otel/metrics': { body: {}, own: 200, as: 'agent' },
  'POST /platform/v1/ingest/otel/logs': { body: {}, own: 200, as: 'agent' },
  'POST /v1/traces': { body: TRACE, own: 410, as: 'agent' },
  'POST /v1/metrics': { body: {}, own: 410, as: 'agent' },
  'POST /v1/logs': { body: {}, own: 410, as: 'agent' },
  'GET /api/v1/auth/oauth/providers': read('workspace'),
  'GET /platform/v1/atr/rules': read('workspace'),
  'GET /platform/v1/atr/rules/{ruleId}': read('workspace'),
  'GET /platform/v1/atr/settings': read('workspace'),
  'GET /platform/v1/incidents': read('workspace'),
  'GET /platform/v1/risk-findings': read('workspace'),
  'GET /platform/v1/risk-findings/ocsf': read('workspace'),
  'GET /platform/v1/risk-findings/{findingId}': read('workspace'),
  'GET /platform/v1/risk-findings/{findingId}/evidence': read('workspace'),
  'GET /platform/v1/incidents/{runId}/evidence': read('workspace'),
  'GET /platform/v1/evidence-key': read('workspace'),
  'GET /platform/v1/finding-exceptions': read('workspace'),
  'GET /platform/v1/runs': read('workspace'),
  'GET /platform/v1/runs/search': { own: 200, as: 'workspace', query: '?text=chat' },
  'GET /platform/v1/runs/{runId}': read('workspace'),
  'GET /platform/v1/runs/{runId}/otlp': read('workspace'),
  'GET /platform/v1/entities': { own: 200, as: 'workspace', query: '?kind=service&name=checkout' },
  'GET /platform/v1/tools': read('workspace'),
  'GET /platform/v1/tools/{toolId}': read('workspace'),
  'GET /platform/v1/logs': read('workspace'),
  'GET /platform/v1/metrics': read('workspace'),
  'GET /platform/v1/metrics/series': { own: 200, as: 'workspace', query: '?name=tokens' },
  'POST /mcp': {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_finding', arguments: { finding_id: '{findingId}' } },
    },
    own: 200,
    as: 'workspace',
  },
  'GET /health': read('nobody'),
  'GET /ready': read('nobody'),
  'GET /metrics': read('nobody'),
  'PUT /app/api/atr/rules/{ruleId}': { body: { enabled: false }, own: 200, as: 'session' },
  'PUT /app/api/atr/settings': { body: { experimental: true }, own: 200, as: 'session' },
  'POST /app/findings/{findingId}/exception': {
    form: { text: 'yes', reason: MARK, days: '1' },
    own: 303,
    as: 'session',
  },
  'POST /app/tools/{toolId}/seen': { form: { version: '2' }, own: 303, as: 'session' },
  'POST /app/exceptions/{exceptionId}/end': { form: {}, own: 303, as: 'session' },
  'PUT /app/api/findings/triage': {
    body: { ids: ['{findingId}'], state: 'closed', note: MARK },
    own: 200,
    as: 'session',
  },
  'POST /app/findings/{findingId}/triage': {
    form: { state: 'closed', shown_state: 'new', assignee: '', shown_assignee: '' },
    own: 303,
    as: 'session',
  },
  'POST /app/findings/triage': {
    form: { state: 'closed', 'group-{findingId}': 'on' },
    own: 303,
    as: 'session',
  },
  'POST /app/findings/views': {
    form: { name: `${MARK} view`, query: 'severity=low' },
    own: 303,
    as: 'session',
  },
  'POST /app/findings/views/{viewId}/default': {
    form: { default: 'true' },
    own: 303,
    as: 'session',
  },
  'POST /app/findings/views/{viewId}/delete': { form: {}, own: 303, as: 'session' },
  // Pages for people without a session; a form of somebody else's fits nobody.
  'GET /app/sign-in': read('nobody'),
  'POST /app/sign-in': {
    form: { email: 'a@b.test', password: PASSWORD, workspace: MARK },
    own: 401,
    as: 'nobody',
  },
  'POST /app/sign-out': { form: {}, own: 303, as: 'session' },
  // The other writes are forms, answered with a redirect.
  'POST /app/rules': { form: { experimental: 'false' }, own: 303, as: 'session' },
  'POST /app/rules/reset': { form: {}, own: 303, as: 'session' },
  'POST /app/rules/{ruleId}': { form: { enabled: 'null' }, own: 303, as: 'session' },
  'POST /app/rules/previews': { form: { days: '7' }, own: 303, as: 'session' },
  'POST /app/rules/previews/{previewId}/cancel': { form: {}, own: 303, as: 'session' },
  'POST /app/keys': {
    form: { kind: 'agent', name: 'theirs', rate_limit_per_minute: '1000' },
    own: 200,
    as: 'session',
  },
  'POST /app/keys/{keyId}/limit': {
    form: { rate_limit_per_minute: '7' },
    own: 303,
    as: 'session',
  },
  'POST /app/keys/{keyId}/revoke': { form: {}, own: 303, as: 'session' },
  'POST /app/alerts': { form: DESTINATION, own: 200, as: 'session' },
  'POST /app/alerts/{destinationId}': { form: DESTINATION, own: 303, as: 'session' },
  'POST /app/alerts/{destinationId}/pause': { form: { paused: 'true' }, own: 303, as: 'session' },
  'POST /app/alerts/{destinationId}/secret': { form: {}, own: 200, as: 'session' },
  'POST /app/alerts/{destinationId}/test': { form: {}, own: 200, as: 'session' },
  'POST /app/alerts/{destinationId}/send-again': {
    form: { message: '0'.repeat(32) },
    own: 404,
    as: 'session',
  },
  'POST /app/alerts/{destinationId}/delete': { form: {}, own: 303, as: 'session' },
  'POST /app/members/{userId}': { form: { role: 'admin' }, own: 303, as: 'session' },
  'POST /app/members/{userId}/remove': { form: {}, own: 303, as: 'session' },
  'POST /app/invitations': {
    form: { email: 'form@else.test', role: 'admin' },
    own: 200,
    as: 'session',
  },
  'POST /app/invitations/{invitationId}/revoke': { form: {}, own: 303, as: 'session' },
  'POST /app/settings': { form: { name: 'theirs' }, own: 303, as: 'session' },
  'POST /app/workspace': { form: { workspace: MARK }, own: 303, as: 'session' },
  'POST /app/sessions/{sessionId}/end': { form: {}, own: 303, as: 'session' },
  'POST /app/sessions/end-others': { form: {}, own: 303, as: 'session' },
  'POST /app/password': {
    form: { current_password: PASSWORD, new_password: `${PASSWORD}!` },
    own: 401,
    as: 'session',
  },
  'GET /app/sign-in/{provider}': { own: 404, as: 'nobody' },
  'GET /app/sign-in/{provider}/callback': { own: 404, as: 'nobody' },
  'GET /app/invitation/{token}': { own: 404, as: 'nobody' },
  'POST /app/invitation/{token}': { form: {}, own: 404, as: 'session' },
  'POST /app/device': {
    form: { user_code: 'BCDF-GHJK', decision: 'approve' },
    own: 404,
    as: 'session',
  },
  // Command lines that people have signed in.
  'POST /cli/v1/device-authorization': { form: { client_id: 'sluice' }, own: 200, as: 'nobody' },
  'POST /cli/v1/token': {
    form: {
      client_id: 'sluice',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'x'.repeat(43),
    },
    own: 400,
    as: 'nobody',
  },
  'GET /cli/v1/incidents': read('commandLine'),
  'GET /cli/v1/findings': read('commandLine'),
  'GET /cli/v1/findings/{findingId}': read('commandLine'),
  'GET /cli/v1/findings/{findingId}/evidence': read('commandLine'),
  'GET /cli/v1/incidents/{runId}/evidence': read('commandLine'),
  'GET /cli/v1/evidence-key': read('commandLine'),
  'GET /cli/v1/exceptions': read('commandLine'),
  'GET /cli/v1/runs': read('commandLine'),
  'GET /cli/v1/runs/search': { own: 200, as: 'commandLine', query: '?text=chat' },
  'GET /cli/v1/runs/{runId}': read('commandLine'),
  'GET /cli/v1/tools': read('commandLine'),
  'GET /cli/v1/tools/{toolId}': read('commandLine'),
  'GET /cli/v1/rules': read('commandLine'),
  'GET /cli/v1/rules/{ruleId}': read('commandLine'),
  'GET /cli/v1/keys': read('commandLine'),
  'GET /cli/v1/alerts': read('commandLine'),
  'POST /cli/v1/alerts/{destinationId}/test': { own: 200, as: 'commandLine' },
  'POST /cli/v1/alerts/{destinationId}/send-again': {
    body: { message_id: '0'.repeat(32) },
    own: 404,
    as: 'commandLine',
  },
  'POST /cli/v1/keys': { body: { kind: 'agent', name: 'theirs' }, own: 200, as: 'commandLine' },
  'POST /cli/v1/keys/{keyId}/limit': {
    body: { rate_limit_per_minute: 5 },
    own: 200,
    as: 'commandLine',
  },
  'DELETE /cli/v1/keys/{keyId}': { own: 200, as: 'commandLine' },
  'GET /cli/v1/session': read('commandLine'),
  'DELETE /cli/v1/session': { own: 200, as: 'commandLine' },
};
/** Documents and files, the same for everybody. */
const OPEN = /^GET \/(docs|assets|llms|openapi)/;
/** Pages for people with a session: called as such without an entry above. */
const PAGE = /^GET \/app/;
/** The way to the first page. */
const DOOR = 'GET /';

function questionOf(route: string): Ask {
  if (route === DOOR) return { own: 303, as: 'nobody' };
  return ASKS[route] ?? read(PAGE.test(route) ? 'session' : 'nobody');
}

const BASE = routesOf('PORT');

let gateway: Gateway;
let victim: Keys & { readonly id: number };
let other: Keys & { readonly id: number };
let owner: Person;
/** of the victim, by the names that paths give them */
let ids: Readonly<Record<string, string>>;
/** texts and ids that only the victim's answers may hold */
let marks: readonly string[];

async function value(sql: string, values: readonly unknown[]): Promise<string> {
  const { rows } = await gateway.database.query<{ value: unknown }>(sql, [...values]);
  return String(rows[0]?.value);
}

async function makeKeyOfVictim(): Promise<string> {
  const key = { workspaceId: victim.id, kind: 'agent', name: `${MARK} key` } as const;
  const settings = { rateLimitPerMinute: 1000, brand: 'sluice' };
  return String((await createKey(gateway.database, { ...key, ...settings })).id);
}

async function makeInvitationOfVictim(): Promise<string> {
  const guest = {
    email: `${MARK}-${randomId(8)}@a.test`,
    role: 'member',
    invitedBy: null,
  } as const;
  const connection = await gateway.database.connect();
  try {
    const { invitation } = await insertInvitation(connection, victim.id, guest);
    return String(invitation.id);
  } finally {
    connection.release();
  }
}

/** Instead of the one before, which a route may have removed. */
async function makeDestinationOfVictim(): Promise<string> {
  await gateway.database.query('DELETE FROM alert_destinations WHERE workspace_id = $1', [
    victim.id,
  ]);
  const filter = { minSeverity: 'low', categories: [], agent: null, agentMatch: 'equals' } as const;
  const target = { format: 'json', url: `https://${MARK}.invalid/hook` } as const;
  const settings = { name: `${MARK} destination`, target, filter, showsUser: true };
  const actor = { userId: null, name: 'a test', origin: 'command line' };
  return String((await createDestination(gateway.database, victim.id, settings, actor)).id);
}

async function makeExceptionOfVictim(): Promise<string> {
  return await value(
    `INSERT INTO finding_exceptions
       (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
     VALUES ($1, 'ATR-2026-00001', $2, $3, $3, now() + interval '1 day')
     RETURNING id AS value`,
    [victim.id, `${MARK} ${randomId(8)}`, MARK],
  );
}

async function makeViewOfVictim(): Promise<string> {
  return await value(
    `INSERT INTO finding_views (workspace_id, name, query, created_by)
     VALUES ($1, $2, 'q=' || $3::text, $4) RETURNING id AS value`,
    [victim.id, `${MARK} ${randomId(8)}`, MARK, owner.id],
  );
}

async function beginIds(): Promise<void> {
  for (const [table, first] of Object.entries(FIRST_IDS)) {
    await gateway.database.query(`ALTER TABLE ${table} ALTER COLUMN id RESTART WITH ${first}`);
  }
}

/** Every numeric id of the victim's rows; those of sessions and findings are random. */
async function numericIds(): Promise<string[]> {
  const { rows } = await gateway.database.query<{ id: number }>(
    `SELECT id FROM api_keys WHERE workspace_id = $1
     UNION ALL SELECT id FROM invitations WHERE workspace_id = $1
     UNION ALL SELECT id FROM alert_destinations WHERE workspace_id = $1
     UNION ALL SELECT id FROM finding_exceptions WHERE workspace_id = $1
     UNION ALL SELECT id FROM finding_views WHERE workspace_id = $1
     UNION ALL SELECT user_id FROM memberships WHERE workspace_id = $1
     UNION ALL SELECT $1`,
    [victim.id],
  );
  return rows.map(({ id }) => String(id));
}

beforeAll(async () => {
  gateway = await openGateway();
  await beginIds();
  victim = await gateway.addWorkspace(MARK);
  other = await gateway.addWorkspace('other');
  await gateway.database.query("UPDATE workspaces SET plan = 'enterprise'");
  owner = await addPerson(gateway.database, victim.id, 'owner', { email: `${MARK}-owner@a.test` });
  const member = await addPerson(gateway.database, victim.id, 'member', {
    email: `${MARK}-member@a.test`,
  });
  const { runId, findingId } = await sendAttack(gateway, victim.agent, `invoke_agent ${MARK}`);
  await gateway.database.query(
    `UPDATE users SET display_name = $1 || ' ' || display_name WHERE id = ANY ($2)`,
    [MARK, [owner.id, member.id]],
  );
  ids = {
    runId,
    ruleId: 'ATR-2026-00001',
    userId: String(member.id),
    findingId,
    keyId: await makeKeyOfVictim(),
    previewId: await insertPreview(gateway.database, victim.id),
    invitationId: await makeInvitationOfVictim(),
    destinationId: await makeDestinationOfVictim(),
    exceptionId: await makeExceptionOfVictim(),
    viewId: await makeViewOfVictim(),
    toolId: await storeTool(gateway.database, victim.id, `${MARK} tool`),
    sessionId: await value('SELECT id AS value FROM sessions WHERE user_id = $1', [member.id]),
  };
  const { sessionId = '', previewId = '', toolId = '' } = ids;
  const texts = [MARK, runId, findingId, sessionId, previewId, toolId, owner.token, member.token];
  marks = [...texts, victim.agent, victim.workspace, ...(await numericIds())];
});
afterAll(() => gateway.close());

/** Everything of the victim that somebody could change, as text. */
async function state(): Promise<string> {
  const tables = ['api_keys', 'rule_overrides', 'memberships', 'invitations', 'audit_ledger'];
  const alerts = ['alert_destinations', 'alert_outbox', 'alert_deliveries', 'assignment_mails'];
  const beside = [
    'finding_states',
    'finding_history',
    'finding_exceptions',
    'finding_views',
    'rule_previews',
    'tool_definitions',
    'tool_lists',
    ...alerts,
  ];
  const telemetry = ['hot_blocks', 'hot_places', 'blocks', 'places'];
  const scoped = [...tables, ...beside, ...telemetry, 'runs', 'findings'].map(
    (table) =>
      `(SELECT json_agg(to_jsonb(t) - 'last_used_at' ORDER BY to_jsonb(t)::text)
          FROM ${table} t WHERE workspace_id = $1)`,
  );
  return await value(
    `SELECT json_build_array(${scoped.join(', ')},
              (SELECT to_jsonb(w) FROM workspaces w WHERE id = $1),
              (SELECT json_agg(to_jsonb(s) - 'last_seen_at' ORDER BY s.id) FROM sessions s
                WHERE workspace_id = $1),
              (SELECT json_agg(to_jsonb(u) ORDER BY u.id) FROM users u
                 JOIN memberships m ON m.user_id = u.id WHERE m.workspace_id = $1))::text AS value`,
    [victim.id],
  );
}

function pathOf(pattern: string): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? 'none');
}

/** The answer to a route's question. */
async function ask(
  route: string,
  credential: { readonly key?: string; readonly token?: string },
  named: string | null = 'other',
): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const isWrite = method !== 'GET' && pattern.startsWith('/app/');
  const { body, form, query = '' } = questionOf(route);
  const path = `${pathOf(pattern)}${isWrite && named !== null ? `?workspace=${named}` : query}`;
  const text =
    form === undefined
      ? body === undefined
        ? undefined
        : pathOf(JSON.stringify(body))
      : new URLSearchParams(JSON.parse(pathOf(JSON.stringify(form)))).toString();
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const init = {
    headers: {
      ...(credential.key === undefined ? {} : { authorization: `Bearer ${credential.key}` }),
      ...(text === undefined ? {} : { 'content-type': type }),
    },
    ...(text === undefined ? {} : { body: text }),
  };
  if (pattern === '/mcp') {
    // Assistants have no origin, unlike browsers.
    const headers = { ...init.headers, accept: 'application/json, text/event-stream' };
    return await request(`${gateway.server.baseUrl}${path}`, { ...init, method, headers });
  }
  return await new Browser(gateway.server.baseUrl, credential.token ?? null).send(
    method,
    path,
    init,
  );
}

/** Of one more owner: a route may end the session it is called with. */
async function freshToken(workspaceId: number): Promise<string> {
  return (await addPerson(gateway.database, workspaceId, 'owner')).token;
}

/** The token of a command line that one more owner has signed in. */
async function freshCommandLine(workspaceId: number): Promise<string> {
  const person = await addPerson(gateway.database, workspaceId, 'owner');
  return await addCommandLine(gateway.database, workspaceId, person);
}

test('the table has every route of every listener, and no other', () => {
  const all = ['PORT', 'OBSERVE_PORT', 'ADMIN_PORT'].flatMap(routesOf).map(nameOf);
  const named = Object.keys(ASKS);
  const isGeneral = (route: string) => OPEN.test(route) || PAGE.test(route) || route === DOOR;
  const known = all.filter((route) => named.includes(route) || !isGeneral(route));
  expect([...new Set(known)].sort()).toEqual(named.sort());
});

describe('another workspace', () => {
  /** One session and one command line for all reads: these end none. */
  let reader: { readonly token: string; readonly key: string };
  const freshReader = async () => {
    return { token: await freshToken(other.id), key: await freshCommandLine(other.id) };
  };
  let stateBefore: string;
  beforeAll(async () => {
    reader = await freshReader();
    stateBefore = await state();
  });

  test.each(BASE.map(nameOf))('%s', async (route) => {
    const { token, key } = route.startsWith('GET ') ? reader : await freshReader();
    const commandLine = { key };
    const keys = [{ key: other.agent }, { key: other.workspace }];
    const credentials = [...keys, commandLine, { token }, {}];
    for (const credential of credentials) {
      const { status, text, headers } = await ask(route, credential);
      const said = `${route} with ${Object.keys(credential)[0] ?? 'nothing'}: ${status}`;
      // After sign-in, the browser returns to the path that it requested.
      const requestedPath = encodeURIComponent(pathOf(route.split(' ')[1] ?? ''));
      const held = `${text}\n${JSON.stringify([...headers]).replaceAll(requestedPath, '')}`;
      expect(status, said).not.toBe(503);
      expect(
        marks.filter((mark) => held.includes(mark)),
        said,
      ).toEqual([]);
      // Ids of the victim's things lead nowhere, whichever key asks.
      const isSentToSignIn = headers.get('location')?.startsWith('/app/sign-in?') === true;
      if (/\{(?!ruleId)/.test(route) && !isSentToSignIn) {
        expect([401, 403, 404], said).toContain(status);
      }
    }
    const before = stateBefore;
    stateBefore = await state();
    expect(stateBefore).toBe(before);
  });

  test('sends to a run of the same id, and has one of its own', async () => {
    const before = await state();
    const span = rawSpan({ traceId: ids.runId, name: 'a span of the other workspace' });
    const { observeUrl } = gateway.server;
    expect((await post(`${observeUrl}/v1/traces`, other.agent, traceBody([span]))).status).toBe(
      200,
    );
    const own = await request(`${gateway.server.baseUrl}/platform/v1/runs/${ids.runId}`, {
      headers: { authorization: `Bearer ${other.workspace}` },
    });
    expect(own.status).toBe(200);
    expect(own.text).not.toContain(MARK);
    expect(await state()).toBe(before);
  });

  test('filters by the ids of this one, and finds nothing', async () => {
    for (const query of [`run_id=${ids.runId}`, `rule_id=${ids.ruleId}`, `q=${MARK}`]) {
      const answer = await request(`${gateway.server.baseUrl}/platform/v1/risk-findings?${query}`, {
        headers: { authorization: `Bearer ${other.workspace}` },
      });
      expect(JSON.parse(answer.text)).toMatchObject({ findings: [] });
    }
    const run = await request(`${gateway.server.baseUrl}/platform/v1/runs/${randomId(16)}`, {
      headers: { authorization: `Bearer ${victim.workspace}` },
    });
    expect(run.status).toBe(404);
  });
});

/** Writes about the account of who is signed in, or of nobody who is: no workspace is changed. */
const OF_ACCOUNT = [
  ...['POST /app/password', 'POST /app/workspace', 'POST /app/sessions/{sessionId}/end'],
  ...['POST /app/sessions/end-others', 'POST /app/sign-in', 'POST /app/sign-out'],
  'POST /app/invitation/{token}',
];
const WRITES = BASE.map(nameOf).filter((route) => /^(?!GET)\w+ \/app\//.test(route));

describe('a write of a page that shows another workspace than the session looks at by now', () => {
  test.each(WRITES.filter((route) => !OF_ACCOUNT.includes(route)))('%s', async (route) => {
    const person = await addPerson(gateway.database, other.id, 'owner');
    await addMember(gateway.database, victim.id, person.id, 'owner');
    await gateway.database.query('UPDATE sessions SET workspace_id = $2 WHERE user_id = $1', [
      person.id,
      victim.id,
    ]);
    const before = await state();
    const late = await ask(route, { token: person.token }, 'other');
    expect(late.status, late.text).toBe(409);
    expect(late.text).toContain('Nothing was changed');
    if (route.includes('/api/')) expect(late.text).toContain('"reason":"other_workspace"');
    else expect(late.text).toMatch(/action="\/app\/workspace".*\n?.*value="other"/);
    const unnamed = await ask(route, { token: person.token }, null);
    expect(unnamed.status, unnamed.text).toBe(400);
    expect(await state()).toBe(before);
  });

  test('the others are about the account, and there are no more of them', () => {
    expect(OF_ACCOUNT.filter((route) => !WRITES.includes(route))).toEqual([]);
  });
});

/** Replaces what an earlier request has removed. */
async function renew(route: string): Promise<void> {
  const needs = (name: string): boolean =>
    route.includes(`{${name}}`) || SHOWN[route]?.includes(name) === true;
  if (needs('keyId')) ids = { ...ids, keyId: await makeKeyOfVictim() };
  if (needs('invitationId')) ids = { ...ids, invitationId: await makeInvitationOfVictim() };
  if (needs('destinationId')) ids = { ...ids, destinationId: await makeDestinationOfVictim() };
  if (needs('exceptionId')) ids = { ...ids, exceptionId: await makeExceptionOfVictim() };
  if (needs('viewId')) ids = { ...ids, viewId: await makeViewOfVictim() };
  if (needs('userId')) {
    ids = { ...ids, userId: String((await addPerson(gateway.database, victim.id, 'member')).id) };
  }
  if (needs('sessionId')) {
    owner = await addPerson(gateway.database, victim.id, 'owner');
    // The other of two sessions: pages do not show the id of the one that they are requested with.
    await createSession(gateway.database, {
      userId: owner.id,
      workspaceSlug: MARK,
      userAgent: 'a test',
      address: '127.0.0.0/24',
    });
    const newest = 'SELECT id AS value FROM sessions WHERE user_id = $1 ORDER BY created_at DESC';
    ids = { ...ids, sessionId: await value(newest, [owner.id]) };
  }
}

/**
 * What the victim's own answer holds, by the names that paths give it: it shows that the answers
 * above could have held it.
 */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  'POST /mcp': ['findingId', 'runId'],
  'GET /platform/v1/runs': ['runId'],
  'GET /platform/v1/runs/{runId}': ['runId'],
  'GET /platform/v1/tools': ['toolId'],
  'GET /platform/v1/tools/{toolId}': ['toolId'],
  'GET /cli/v1/tools': ['toolId'],
  'GET /cli/v1/tools/{toolId}': ['toolId'],
  'GET /platform/v1/incidents': ['findingId', 'runId'],
  'GET /platform/v1/risk-findings': ['findingId', 'runId'],
  'GET /platform/v1/risk-findings/ocsf': ['findingId', 'runId'],
  'GET /platform/v1/risk-findings/{findingId}': ['findingId', 'runId'],
  'GET /app/tools': ['toolId'],
  'GET /app/tools/{toolId}': ['toolId'],
  'GET /app/incidents': ['findingId', 'runId'],
  'GET /app/findings': ['findingId', 'viewId'],
  'GET /app/findings/rows': ['findingId'],
  'GET /app/findings.csv': ['runId'],
  'GET /app/findings.ocsf': ['findingId'],
  'GET /app/findings/{findingId}': ['runId'],
  'GET /app/exceptions': ['exceptionId'],
  'GET /app/runs': ['runId'],
  'GET /app/runs/{runId}': ['findingId'],
  'GET /app/keys': ['keyId'],
  'GET /app/members': ['userId', 'invitationId'],
  'GET /app/alerts': ['destinationId'],
  'GET /app/alerts/{destinationId}': ['destinationId'],
  'GET /app/settings': ['sessionId'],
  'GET /cli/v1/incidents': ['findingId', 'runId'],
  'GET /cli/v1/findings': ['findingId', 'runId'],
  'GET /cli/v1/findings/{findingId}': ['findingId', 'runId'],
  'GET /cli/v1/exceptions': ['exceptionId'],
  'GET /cli/v1/runs': ['runId'],
  'GET /cli/v1/runs/{runId}': ['runId'],
  'GET /cli/v1/keys': ['keyId'],
  'GET /cli/v1/alerts': ['destinationId'],
};
const needsOwnSession = (route: string): boolean =>
  route.includes('{sessionId}') || SHOWN[route]?.includes('sessionId') === true;

// Last: what the victim asks for itself does change it. It shows that the questions above were
// refused because of the caller.
describe('the workspace itself', () => {
  test.each(BASE.map(nameOf))('%s', async (route) => {
    const { as, own } = questionOf(route);
    const token = as === 'session' ? await freshToken(victim.id) : undefined;
    await renew(route);
    // Only what one has oneself can be ended.
    const session = needsOwnSession(route) ? owner.token : token;
    const credential =
      as === 'agent' || as === 'workspace'
        ? { key: victim[as] }
        : as === 'commandLine'
          ? { key: await freshCommandLine(victim.id) }
          : session === undefined
            ? {}
            : { token: session };
    const answer = await ask(route, credential, MARK);
    expect(answer.status, answer.text).toBe(own);
    for (const name of SHOWN[route] ?? []) {
      expect(answer.text.includes(ids[name] ?? ''), `${name} in ${answer.text}`).toBe(true);
    }
  });
});
