/**
 * Who may do what in the dashboard: every route under `/app`, requested by an owner, an admin and a
 * member of a workspace, by the owner of another workspace and without a session, on every plan; and
 * by an owner with an API key, or from a page of another site.
 *
 * The expectations are a table written from the contracts (docs/dashboard.md, "Plans and roles"). The
 * routes come from the server's own table: one without a row here fails the test, and so does a row
 * without a route.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { insertInvitation } from '../../src/db/people/invitations.ts';
import { createKey } from '../../src/db/people/keys.ts';
import { createInvitation } from '../../src/db/people/member-writes.ts';
import { createSession } from '../../src/db/people/sessions.ts';
import { PLANS, type Plan, type Role } from '../../src/model/people.ts';
import { insertPreview } from '../support/evaluation.ts';
import { addPerson, type Person } from '../support/people.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { storeTool } from '../support/stored-tools.ts';
import { sendAttack } from './attack.ts';
import { Browser, type Fields } from './browser.ts';
import { type Answer, type Gateway, type Keys, openGateway, read } from './gateway.ts';

const CREW = 'crew';
const GUEST = 'guest@crew.test';
const KEY = 'Key of the crew';
const RUN = 'invoke_agent crew';
const DESTINATION = 'On call of the crew';
const RULE_ID = 'ATR-2026-00001';

type Asker = Role | 'stranger' | 'nobody';
const ASKERS: readonly Asker[] = ['owner', 'admin', 'member', 'stranger', 'nobody'];
const TEAM: readonly Plan[] = ['team', 'enterprise'];

/** What a route is to do. */
interface Row {
  /** `account` needs a session, `anyone` none */
  readonly for: 'members' | 'admins' | 'account' | 'anyone';
  /** on the other plans a write is refused with 403, a page shows what the plan has */
  readonly plans?: readonly Plan[];
  readonly form?: Fields;
  readonly json?: unknown;
  /** the status for who may; 200 by default */
  readonly ok?: number;
  /** what the rules below do not say */
  readonly except?: Readonly<Partial<Record<Asker, number>>>;
  /** of the workspace, or of the rules; in the answer if its asker may see it, and else not */
  readonly shows?: () => string;
  /** each in the answer to admins, and else not */
  readonly showsAdmins?: readonly string[];
}

let ruleTitle = '';
let findingId = '';
let toolId = '';
let runId = '';

const RULE_FORM = { enabled: 'null' };
const KEY_FORM = { kind: 'agent', name: 'one more', rate_limit_per_minute: '10' };
const TRIAGE_FORM = {
  state: 'closed',
  shown_state: 'new',
  assignee: '',
  shown_assignee: '',
  note: 'seen',
};
/** A name that never resolves: nothing is sent. */
const DESTINATION_FORM = {
  name: DESTINATION,
  format: 'json',
  url: 'https://alerts.invalid/hook',
  min_severity: 'low',
};
const EXCEPTION_FORM = { text: 'yes', reason: 'expected', days: '30' };
const SHORT = 'short';
const members: Row = { for: 'members' };
const tab = (row: Partial<Row> = {}): Row => ({ for: 'members', plans: TEAM, ...row });
const tabWrite = (row: Partial<Row>): Row => ({ for: 'admins', plans: TEAM, ...row });
const adminForm = (form: Fields = {}, row: Partial<Row> = {}): Row => {
  return { for: 'admins', form, ok: 303, ...row };
};
const ofAccount = (row: Partial<Row>): Row => ({ for: 'account', ok: 303, ...row });
const anyone = (row: Partial<Row>): Row => ({ for: 'anyone', ...row });
const signedIn = (status: number) => {
  return { owner: status, admin: status, member: status, stranger: status };
};

const ROWS: Readonly<Record<string, Row>> = {
  // Pages.
  'GET /app': members,
  'GET /app/incidents': { for: 'members', shows: () => findingId },
  'GET /app/findings': { for: 'members', shows: () => findingId },
  'GET /app/findings/rows': { for: 'members', shows: () => findingId },
  'GET /app/findings.csv': { for: 'members', shows: () => findingId },
  'GET /app/findings.ocsf': { for: 'members', shows: () => findingId },
  'GET /app/findings/{findingId}': { for: 'members', shows: () => runId },
  'GET /app/findings/{findingId}/exception': { for: 'admins', shows: () => findingId },
  'GET /app/exceptions': members,
  'GET /app/runs': { for: 'members', shows: () => runId },
  'GET /app/runs/{runId}': { for: 'members', shows: () => RUN },
  'GET /app/runs/{runId}/otlp.jsonl': { for: 'members' },
  'GET /app/findings/{findingId}/evidence.tar': { for: 'members', shows: () => findingId },
  'GET /app/incidents/{runId}/evidence.tar': { for: 'members', shows: () => findingId },
  'GET /app/entities': members,
  'GET /app/tools': { for: 'members', shows: () => toolId },
  'GET /app/tools/{toolId}': { for: 'members', shows: () => toolId },
  'POST /app/tools/{toolId}/seen': { for: 'members', form: { version: '1' }, ok: 303 },
  'GET /app/logs': members,
  'GET /app/metrics': members,
  'GET /app/rules': tab({ shows: () => ruleTitle }),
  'GET /app/rules/{ruleId}': tab({ shows: () => ruleTitle }),
  'GET /app/rules/coverage': tab({ shows: () => '<h1>Coverage</h1>' }),
  'GET /app/rules/previews': tab({ shows: () => '<h1>Previews</h1>' }),
  'GET /app/rules/previews/compare': tab({ shows: () => '<h1>Compare previews</h1>' }),
  'GET /app/rules/previews/{previewId}': tab({ shows: () => 'Expected findings' }),
  'GET /app/keys/{keyId}/arrival': members,
  'GET /app/keys': {
    for: 'members',
    shows: () => KEY,
    showsAdmins: ['action="/app/keys?workspace=crew"'],
  },
  // The page to type a code on; no command line waits under the code of the form.
  'GET /app/device': members,
  'POST /app/device': {
    for: 'members',
    form: { user_code: 'BCDF-GHJK', decision: 'approve' },
    ok: 404,
  },
  'GET /app/members': {
    for: 'members',
    shows: () => 'crew-owner@crew.test',
    showsAdmins: [GUEST, 'action="/app/invitations?workspace=crew"', '/remove?workspace=crew"'],
  },
  'GET /app/audit': { for: 'admins', shows: () => GUEST },
  'GET /app/audit.csv': { for: 'admins', shows: () => GUEST },
  'GET /app/alerts': { for: 'admins', shows: () => DESTINATION },
  'GET /app/alerts/{destinationId}': { for: 'admins', shows: () => DESTINATION },
  'GET /app/settings': {
    for: 'members',
    showsAdmins: ['action="/app/settings?workspace=crew"'],
  },
  // Forms.
  'POST /app/findings/{findingId}/triage': {
    for: 'members',
    form: TRIAGE_FORM,
    ok: 303,
  },
  'POST /app/findings/triage': {
    for: 'members',
    form: { state: 'closed', [`finding-${'0'.repeat(32)}`]: 'on' },
    ok: 404,
  },
  'POST /app/findings/views': { for: 'members', form: { name: 'mine', query: '' }, ok: 303 },
  // A view that the workspace shares and somebody else has made.
  'POST /app/findings/views/{viewId}/default': {
    for: 'members',
    form: { default: 'true' },
    ok: 303,
  },
  'POST /app/findings/views/{viewId}/delete': adminForm(),
  'POST /app/findings/{findingId}/exception': adminForm(EXCEPTION_FORM),
  'POST /app/exceptions/{exceptionId}/end': adminForm(),
  'POST /app/rules': tabWrite({ form: { experimental: 'false' }, ok: 303 }),
  'POST /app/rules/reset': adminForm({}, { except: { admin: 403 } }),
  'POST /app/rules/{ruleId}': tabWrite({ form: RULE_FORM, ok: 303 }),
  'POST /app/rules/previews': tabWrite({ form: { rule_id: RULE_ID, days: '1' }, ok: 303 }),
  'POST /app/rules/previews/{previewId}/cancel': tabWrite({ form: {}, ok: 303 }),
  'POST /app/keys': adminForm(KEY_FORM, { ok: 200 }),
  'POST /app/keys/{keyId}/limit': adminForm({ rate_limit_per_minute: '500' }),
  'POST /app/keys/{keyId}/revoke': adminForm(),
  'POST /app/alerts': adminForm(DESTINATION_FORM, { ok: 200 }),
  'POST /app/alerts/{destinationId}': adminForm(DESTINATION_FORM),
  'POST /app/alerts/{destinationId}/pause': adminForm({ paused: 'true' }),
  'POST /app/alerts/{destinationId}/delete': adminForm(),
  'POST /app/alerts/{destinationId}/secret': adminForm({}, { ok: 200 }),
  'POST /app/alerts/{destinationId}/test': adminForm({}, { ok: 200 }),
  // The destination has no undelivered message of this id.
  'POST /app/alerts/{destinationId}/send-again': adminForm(
    { message: '0'.repeat(32) },
    { ok: 404 },
  ),
  'POST /app/members/{userId}': adminForm({ role: 'admin' }),
  'POST /app/members/{userId}/remove': adminForm(),
  'POST /app/invitations': adminForm({ email: 'form@crew.test', role: 'member' }, { ok: 200 }),
  'POST /app/invitations/{invitationId}/revoke': adminForm(),
  'POST /app/settings': adminForm({ name: 'Crew' }),
  'POST /app/workspace': ofAccount({ form: { workspace: CREW }, except: { stranger: 404 } }),
  'POST /app/sessions/{sessionId}/end': ofAccount({ form: {}, except: { stranger: 404 } }),
  'POST /app/sessions/end-others': ofAccount({ form: {} }),
  // Refused for its password, which is looked at after the session.
  'POST /app/password': ofAccount({
    form: { current_password: SHORT, new_password: SHORT },
    ok: 400,
  }),
  // Signing in and out. 400 and 404 say that the question was read: what is sent fits nobody.
  'GET /app/sign-in': anyone({ except: signedIn(303) }),
  'POST /app/sign-in': anyone({ form: { email: '', password: '' }, ok: 400 }),
  'POST /app/sign-out': anyone({ form: {}, ok: 303 }),
  'GET /app/sign-in/{provider}': anyone({ ok: 404 }),
  'GET /app/sign-in/{provider}/callback': anyone({ ok: 404 }),
  'GET /app/invitation/{token}': anyone({ ok: 404 }),
  'POST /app/invitation/{token}': anyone({ form: { password: SHORT }, ok: 400 }),
  // The writes in JSON.
  'PUT /app/api/atr/rules/{ruleId}': tabWrite({ json: { enabled: null } }),
  'PUT /app/api/findings/triage': { for: 'members', json: { ids: ['0'.repeat(32)] }, ok: 404 },
  'PUT /app/api/atr/settings': tabWrite({ json: { experimental: false } }),
};

/** Only owners deal with owners: a role, and what is done to which role. */
const AMONG_OWNERS: readonly {
  readonly route: string;
  readonly target?: Role;
  readonly form: Fields;
}[] = [
  { route: 'POST /app/members/{userId}', target: 'owner', form: { role: 'member' } },
  { route: 'POST /app/members/{userId}', target: 'member', form: { role: 'owner' } },
  { route: 'POST /app/members/{userId}/remove', target: 'owner', form: {} },
  { route: 'POST /app/invitations', form: { email: 'high@crew.test', role: 'owner' } },
  { route: 'POST /app/invitations/{invitationId}/revoke', target: 'owner', form: {} },
];

let gateway: Gateway;
let crew: Keys & { readonly id: number };
let workspaceId: number;
let people: Readonly<Record<Exclude<Asker, 'nobody'>, Person>>;

beforeAll(async () => {
  gateway = await openGateway();
  const { database, server } = gateway;
  crew = await gateway.addWorkspace(CREW);
  const elsewhere = await gateway.addWorkspace('elsewhere');
  workspaceId = crew.id;
  const add = (role: Role) =>
    addPerson(database, crew.id, role, { email: `crew-${role}@crew.test` });
  people = {
    owner: await add('owner'),
    admin: await add('admin'),
    member: await add('member'),
    stranger: await addPerson(database, elsewhere.id, 'owner'),
  };
  await createKey(database, {
    workspaceId,
    kind: 'workspace',
    name: KEY,
    rateLimitPerMinute: 10,
    brand: 'sluice',
  });
  await setPlan('team');
  await addDestination(database);
  ({ findingId, runId } = await sendAttack(gateway, crew.agent, RUN));
  toolId = await storeTool(gateway.database, crew.id, 'send_mail');
  const rule = `${server.baseUrl}/platform/v1/atr/rules/${RULE_ID}`;
  ruleTitle = (await read<{ title: string }>(rule, crew.workspace)).title;
});
afterAll(() => gateway.close());

async function setPlan(plan: Plan): Promise<void> {
  await gateway.database.query('UPDATE workspaces SET plan = $1', [plan]);
}

/** Invites again, so that the newest page of the ledger holds the guest. */
async function inviteGuest(): Promise<void> {
  const actor = { userId: null, name: 'a test', origin: 'command line' };
  await createInvitation(gateway.database, workspaceId, { email: GUEST, role: 'member' }, actor);
}

/** A new session of the asker: a route may end the one that it is requested with. */
async function freshToken(asker: Exclude<Asker, 'nobody'>): Promise<string> {
  const session = await createSession(gateway.database, {
    userId: people[asker].id,
    workspaceSlug: asker === 'stranger' ? 'elsewhere' : CREW,
    userAgent: 'a test',
    address: '127.0.0.0/24',
  });
  return session?.token ?? '';
}

let made = 0;

/** Instead of the one before: a workspace has a few only. */
async function addDestination(database: Gateway['database']): Promise<number> {
  await database.query('DELETE FROM alert_destinations WHERE workspace_id = $1', [workspaceId]);
  const { rows } = await database.query<{ id: number }>(
    `INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
     VALUES ($1, $2, 'json', $3, '{low}') RETURNING id`,
    [workspaceId, DESTINATION, DESTINATION_FORM.url],
  );
  return rows[0]?.id ?? 0;
}

/** Something of the workspace that a route can change, made for one request. */
async function target(name: string, asker: Asker, role: Role): Promise<string> {
  const { database } = gateway;
  made += 1;
  if (name === 'userId') return String((await addPerson(database, workspaceId, role)).id);
  if (name === 'keyId') {
    const key = { workspaceId, kind: 'agent', name: `${made}`, brand: 'sluice' } as const;
    return String((await createKey(database, { ...key, rateLimitPerMinute: 1 })).id);
  }
  if (name === 'destinationId') return String(await addDestination(database));
  if (name === 'exceptionId') {
    const { rows } = await database.query<{ id: number }>(
      `INSERT INTO finding_exceptions
         (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
       VALUES ($1, $2, $3, 'expected', 'a test', now() + interval '1 day') RETURNING id`,
      [workspaceId, RULE_ID, `agent ${made}`],
    );
    return String(rows[0]?.id);
  }
  if (name === 'viewId') {
    const { rows } = await database.query<{ id: number }>(
      `INSERT INTO finding_views (workspace_id, name, query, created_by)
       VALUES ($1, $2, 'state=all', 0) RETURNING id`,
      [workspaceId, `view ${made}`],
    );
    return String(rows[0]?.id);
  }
  if (name === 'invitationId') {
    const email = `target-${made}@crew.test`;
    const connection = await database.connect();
    try {
      const guest = { email, role, invitedBy: null };
      const { invitation } = await insertInvitation(connection, workspaceId, guest);
      return String(invitation.id);
    } finally {
      connection.release();
    }
  }
  if (name === 'previewId') return await insertPreview(database, workspaceId);
  if (name === 'sessionId') {
    // One ends sessions of one's own.
    const whose = asker === 'stranger' || asker === 'nobody' ? 'member' : asker;
    await freshToken(whose);
    const { rows } = await database.query<{ id: string }>(
      'SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC LIMIT 1',
      [people[whose].id],
    );
    return rows[0]?.id ?? '';
  }
  return { findingId, runId, toolId, ruleId: RULE_ID, token: 'x'.repeat(43) }[name] ?? 'nowhere';
}

async function ask(
  route: string,
  asker: Asker,
  { form, json, query = '' }: Pick<Row, 'form' | 'json'> & { readonly query?: string },
  targetRole: Role = 'member',
  more: Fields = {},
): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  // The same exception cannot be made twice, and there is a limit of them; neither it nor a decision
  // may keep the finding from the lists. There is a limit of views too, and the list may begin with one.
  await gateway.database.query(
    `WITH exceptions AS (DELETE FROM finding_exceptions), states AS (DELETE FROM finding_states)
     DELETE FROM finding_views`,
  );
  let path = pattern;
  for (const [whole, name = ''] of pattern.matchAll(/\{(\w+)\}/g)) {
    path = path.replace(whole, await target(name, asker, targetRole));
  }
  const browser = new Browser(
    gateway.server.baseUrl,
    asker === 'nobody' ? null : await freshToken(asker),
  );
  const parameters = method === 'GET' ? query : `?workspace=${CREW}`;
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const body = form === undefined ? JSON.stringify(json) : new URLSearchParams(form).toString();
  return await browser.send(method, `${path}${parameters}`, {
    headers: { ...(body === undefined ? {} : { 'content-type': type }), ...more },
    ...(body === undefined ? {} : { body }),
  });
}

const isJson = (route: string): boolean => route.includes(' /app/api/');
const isPage = (route: string): boolean => route.startsWith('GET ');
const isAdmin = (asker: Asker): boolean => asker === 'owner' || asker === 'admin';

function expectedStatus(route: string, row: Row, asker: Asker, plan: Plan): number {
  const exception = row.except?.[asker];
  if (exception !== undefined) return exception;
  const { ok = 200 } = row;
  if (row.for === 'anyone') return ok;
  if (asker === 'nobody') return isJson(route) ? 401 : 303;
  if (row.for === 'account') return ok;
  if (asker === 'stranger') {
    if (!route.startsWith('GET ')) return 409;
    if (/\{(?!ruleId)/.test(route)) return 404;
  }
  if (row.for === 'admins' && asker === 'member') return 403;
  return row.plans?.includes(plan) === false && !isPage(route) ? 403 : ok;
}

/** Whether an answer of this status holds what the row's route shows. */
function isShown(row: Row, asker: Asker, plan: Plan, status: number): boolean {
  if (status !== 200 || asker === 'nobody') return false;
  // Rules are the same for all workspaces; anything else is the crew's.
  if (row.plans !== undefined) return row.plans.includes(plan);
  return asker !== 'stranger';
}

/** Entries of the ledger: a refused write makes none. */
async function ledgerEntries(): Promise<number> {
  const { rows } = await gateway.database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM audit_ledger',
  );
  return rows[0]?.count ?? 0;
}

test('the table has every route under /app, and no other', () => {
  const served = routesOf('PORT').filter(({ path }) => /^\/app(\/|\.|$)/.test(path));
  expect(Object.keys(ROWS).sort()).toEqual(served.map(nameOf).sort());
});

describe.each(PLANS)('on the plan %s', (plan) => {
  beforeAll(async () => {
    await setPlan(plan);
    await inviteGuest();
  });

  test.each(Object.entries(ROWS))('%s', async (route, row) => {
    const isWrite = !route.startsWith('GET ');
    for (const asker of ASKERS) {
      const before = isWrite ? await ledgerEntries() : 0;
      const { status, headers, text } = await ask(route, asker, row);
      const label = `${route} by ${asker} on ${plan}`;
      expect(status, `${label}: ${text}`).toBe(expectedStatus(route, row, asker, plan));
      if (asker === 'nobody' && row.for !== 'anyone' && status === 303) {
        expect(headers.get('location'), label).toMatch(/^\/app\/sign-in\?next=/);
      }
      if (isWrite && status >= 400) expect(await ledgerEntries(), label).toBe(before);
      const shown = isShown(row, asker, plan, status);
      if (row.shows !== undefined) expect(text.includes(row.shows()), label).toBe(shown);
      for (const part of row.showsAdmins ?? []) {
        expect(text.includes(part), `${label}: ${part}`).toBe(shown && isAdmin(asker));
      }
    }
  });
});

describe('a query parameter that a page does not know is an error', () => {
  beforeAll(() => setPlan('team'));
  // What comes back from a provider has the parameters that the provider chose.
  const pages = Object.keys(ROWS).filter((route) => isPage(route) && !route.includes('{provider}'));

  test.each(pages)('%s', async (route) => {
    const { status, text } = await ask(route, 'owner', { query: '?colour=blue' });
    expect([status, text]).toEqual([400, expect.stringMatching(/colour|query/)]);
    expect(text).not.toContain('blue');
  });
});

describe('an owner is refused', () => {
  const writes = Object.entries(ROWS).filter(([route]) => !route.startsWith('GET '));

  test.each(Object.entries(ROWS))('with an API key: %s', async (route, row) => {
    for (const key of [crew.agent, crew.workspace]) {
      const headers = { authorization: `Bearer ${key}` };
      const { status, text } = await ask(route, 'owner', row, 'member', headers);
      expect(status, text).toBe(403);
    }
  });

  test.each(writes)('from another site: %s', async (route, row) => {
    const { status, text } = await ask(route, 'owner', row, 'member', {
      origin: 'https://other.test',
    });
    expect(status, text).toBe(403);
  });
});

describe('only owners deal with owners', () => {
  test.each(AMONG_OWNERS)('$route of $target, $form', async ({ route, target, ...sent }) => {
    const before = await ledgerEntries();
    for (const asker of ['admin', 'member'] as const) {
      const refused = await ask(route, asker, sent, target);
      expect(refused.status, refused.text).toBe(403);
    }
    expect(await ledgerEntries()).toBe(before);
    const done = await ask(route, 'owner', sent, target);
    expect(done.status, done.text).toBeLessThan(400);
    expect(await ledgerEntries()).toBe(before + 1);
  });
});
