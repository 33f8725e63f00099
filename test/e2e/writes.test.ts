/**
 * Changing which rules run, and a workspace's settings and keys: who may, what is refused and why,
 * what takes effect with the next pass, what the ledger keeps of it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { CONVERSATIONS } from '../../demo/conversations.ts';
import { sendRun } from '../../demo/send-run.ts';
import { listKeys } from '../../src/db/people/keys.ts';
import { TRIAGE_FINDINGS_MAX } from '../../src/model/triage.ts';
import { addPerson, ledgerOf } from '../support/people.ts';
import { PLACED } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, bodyOf, type Fields, secretOf } from './browser.ts';
import { post, read, request, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

interface RuleView {
  readonly id: string;
  readonly status: string;
  readonly support: string;
  readonly enabled: boolean;
  readonly override: boolean | null;
  readonly decided_by: string;
  readonly state: string;
}
const RULES = '/app/api/atr/rules';
const TIER = '/app/api/atr/settings';
const API_RULES = '/platform/v1/atr/rules';
const STABLE = 'ATR-2026-00001';
const EVALUATED_WITHIN_MS = 60_000;

let gateway: SharedGateway;
let workspaceId: number;
let owner: Browser;
let ownerEmail: string;
let rules: readonly RuleView[];

beforeAll(async () => {
  gateway = await openSharedGateway();
  const { database, server } = gateway;
  workspaceId = gateway.workspace.id;
  await database.query("UPDATE workspaces SET plan = 'team' WHERE id = $1", [workspaceId]);
  const person = await addPerson(database, workspaceId, 'owner');
  ownerEmail = person.email;
  owner = new Browser(server.baseUrl, person.token);
  const pages = [1, 2].map((page) =>
    readApi<{ rules: RuleView[] }>(`${API_RULES}?per_page=500&page=${page}`),
  );
  rules = (await Promise.all(pages)).flatMap((page) => page.rules);
});
afterAll(() => gateway.close());

function ruleThat(holds: (rule: RuleView) => boolean): string {
  const found = rules.find(holds);
  if (found === undefined) throw new Error('the snapshot has no such rule');
  return found.id;
}

const put = (browser: Browser, ruleId: string, enabled: unknown) =>
  browser.put(`${RULES}/${ruleId}`, { enabled });

const ledger = () => ledgerOf(gateway.database, workspaceId);

/** Reads as a program does: the dashboard has no interface for reading. */
function readApi<Body>(path: string): Promise<Body> {
  return read<Body>(`${gateway.server.baseUrl}${path}`, gateway.keys.workspace);
}

/** Sends the demo's injection and tells which rules found something in it. */
async function rulesFound(): Promise<string[]> {
  const conversation = CONVERSATIONS.find(({ title }) => title === 'injection by the user');
  if (conversation === undefined) throw new Error('the demo has no such conversation');
  const { observeUrl } = gateway.server;
  const runId = await sendRun(conversation, { observeUrl, agentKey: gateway.keys.agent });
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query<{ evaluation: string }>(
        'SELECT evaluation FROM runs WHERE run_id = $1',
        [runId],
      );
      return rows.length > 0 && rows.every(({ evaluation }) => evaluation === 'evaluated');
    },
    { withinMs: EVALUATED_WITHIN_MS, what: `run ${runId} is evaluated` },
  );
  const found = await readApi<{ findings: { metadata: { rule_id: string } }[] }>(
    `/platform/v1/risk-findings?run_id=${runId}`,
  );
  return found.findings.map(({ metadata }) => metadata.rule_id).sort();
}

describe('a rule', () => {
  test('switched off finds nothing from the next pass on, and back on again', async () => {
    expect(await rulesFound()).toEqual([STABLE, 'ATR-2026-00514']);
    const off = await put(owner, STABLE, false);
    expect(off.status).toBe(200);
    expect(bodyOf(off)).toMatchObject({ enabled: false, override: false, decided_by: 'override' });
    expect(await rulesFound()).toEqual(['ATR-2026-00514']);
    const dropped = await put(owner, STABLE, null);
    expect(bodyOf(dropped)).toMatchObject({ enabled: true, override: null, decided_by: 'tier' });
    expect(await rulesFound()).toEqual([STABLE, 'ATR-2026-00514']);
    expect((await ledger()).slice(0, 2)).toMatchObject([
      {
        action: 'rules.override',
        subject: STABLE,
        before: { enabled: false },
        after: { enabled: null },
      },
      {
        seq: expect.any(Number),
        at: expect.any(Date),
        actorUserId: expect.any(Number),
        actor: ownerEmail,
        origin: '127.0.0.1',
        action: 'rules.override',
        subject: STABLE,
        before: { enabled: null },
        after: { enabled: false },
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
  });

  test('of the experimental tier can be switched on alone', async () => {
    const id = ruleThat(
      ({ status, support }) => status === 'experimental' && support === 'as_written',
    );
    const answer = await put(owner, id, true);
    expect(bodyOf(answer)).toMatchObject({ id, enabled: true, override: true });
    expect(await readApi(`${API_RULES}/${id}`)).toMatchObject({ enabled: true, override: true });
    await put(owner, id, null);
  });

  test('that changes nothing is not recorded again', async () => {
    const before = (await ledger()).length;
    expect((await put(owner, STABLE, null)).status).toBe(200);
    expect((await ledger()).length).toBe(before);
  });

  const refused = [
    [
      'engine_unsupported',
      (rule: RuleView) => rule.support === 'unsupported' && rule.status === 'experimental',
    ],
    ['fails_own_examples', (rule: RuleView) => rule.support === 'fails_own_examples'],
    ['status_refused', (rule: RuleView) => rule.state === 'draft_or_deprecated'],
  ] as const;
  test.each(refused)('that may not run is refused: %s', async (reason, holds) => {
    const id = ruleThat(holds);
    const answer = await put(owner, id, true);
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(bodyOf(answer)).toMatchObject({
      type: '/docs/errors#rule_refused',
      status: 409,
      reason,
      detail: expect.stringContaining(id),
    });
    expect(await readApi(`${API_RULES}/${id}`)).toMatchObject({ enabled: false, override: null });
  });

  test('that the snapshot does not have is 404, and a body that says nothing 400', async () => {
    expect((await put(owner, 'ATR-2026-99999', false)).status).toBe(404);
    for (const enabled of ['true', 1, undefined]) {
      expect((await put(owner, STABLE, enabled)).status, String(enabled)).toBe(400);
    }
  });
});

test('the experimental tier: switched, effective, recorded', async () => {
  const enabled = async () => (await readApi<{ total: number }>(`${API_RULES}?enabled=true`)).total;
  const stable = await enabled();
  const on = await owner.put(TIER, { experimental: true });
  expect(on.status).toBe(200);
  expect(bodyOf(on)).toMatchObject({ experimental: true, counts: expect.any(Object) });
  expect(await enabled()).toBeGreaterThan(stable + 500);
  expect((await rulesFound()).length).toBeGreaterThan(2);
  await owner.put(TIER, { experimental: false });
  expect(await enabled()).toBe(stable);
  expect((await ledger())[1]).toMatchObject({
    action: 'rules.experimental',
    before: { experimental: false },
    after: { experimental: true },
  });
});

describe('who may', () => {
  const writes: readonly (readonly [path: string, body: object])[] = [
    [TIER, { experimental: true }],
    [`${RULES}/${STABLE}`, { enabled: false }],
  ];
  const forms: readonly (readonly [path: string, fields: Fields])[] = [
    ['/app/settings', { name: 'Taken over' }],
    ['/app/keys', { kind: 'workspace', name: 'mine' }],
    ['/app/keys/1/revoke', {}],
    ['/app/invitations', { email: 'a@b.test', role: 'member' }],
  ];
  const credentials = () => {
    const { agent, workspace } = gateway.keys;
    return [`Bearer ${agent}`, `Bearer ${workspace}`, 'Bearer x', 'Basic eDp5'];
  };

  test.each(writes)('PUT %s: no API credential, whichever it is', async (path, body) => {
    const before = await ledger();
    for (const credential of credentials()) {
      // Neither beside a session, nor without one.
      for (const token of [owner.token, null]) {
        const answer = await new Browser(gateway.server.baseUrl, token).send('PUT', path, {
          headers: { authorization: credential },
          body: JSON.stringify(body),
        });
        expect(answer.status).toBe(403);
        expect(bodyOf(answer)).toMatchObject({ reason: 'session_required' });
      }
    }
    expect(await ledger()).toEqual(before);
  });

  test.each(forms)('the form %s: no API credential, whichever it is', async (path, fields) => {
    const before = await ledger();
    for (const credential of credentials()) {
      for (const token of [owner.token, null]) {
        const answer = await new Browser(gateway.server.baseUrl, token).send('POST', path, {
          headers: {
            authorization: credential,
            'content-type': 'application/x-www-form-urlencoded',
          },
          body: new URLSearchParams(fields).toString(),
        });
        expect(answer.status).toBe(403);
        expect(answer.text).toContain('Sign in to the dashboard; API keys are not accepted here.');
      }
    }
    expect(await ledger()).toEqual(before);
  });

  test.each(writes)('PUT %s: no member, and nobody without a session', async (path, body) => {
    const before = await ledger();
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const member = await new Browser(gateway.server.baseUrl, token).put(path, body);
    expect(member.status).toBe(403);
    expect(bodyOf(member)).toMatchObject({ reason: 'role_required' });
    const nobody = await new Browser(gateway.server.baseUrl).put(path, body);
    expect(nobody.status).toBe(401);
    expect(bodyOf(nobody)).toMatchObject({ reason: 'not_signed_in' });
    expect(await ledger()).toEqual(before);
  });

  test.each(forms)('the form %s: no member, and nobody without a session', async (path, fields) => {
    const before = await ledger();
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const member = await new Browser(gateway.server.baseUrl, token).submit(path, fields);
    expect(member.status).toBe(403);
    expect(member.text).toContain('This requires the role owner or admin.');
    const nobody = await new Browser(gateway.server.baseUrl).submit(path, fields);
    expect([nobody.status, nobody.headers.get('location')]).toEqual([
      303,
      '/app/sign-in?next=%2Fapp',
    ]);
    expect(await ledger()).toEqual(before);
  });

  test('a member reads the rules; an admin switches them', async () => {
    const member = await addPerson(gateway.database, workspaceId, 'member');
    const admin = await addPerson(gateway.database, workspaceId, 'admin');
    const asMember = new Browser(gateway.server.baseUrl, member.token);
    expect((await asMember.get(`/app/rules/${STABLE}`)).text).toContain(STABLE);
    expect((await asMember.get('/app/rules')).text).toContain('only stable rules run');
    expect((await asMember.get('/app/audit')).status).toBe(403);
    const asAdmin = new Browser(gateway.server.baseUrl, admin.token);
    expect((await put(asAdmin, STABLE, false)).status).toBe(200);
    expect((await put(asAdmin, STABLE, null)).status).toBe(200);
  });

  test.each(['free', 'pro', 'team', 'enterprise'])('on the plan %s', async (plan) => {
    const { id } = await gateway.addWorkspace(`on-${plan}`);
    await gateway.database.query('UPDATE workspaces SET plan = $2 WHERE id = $1', [id, plan]);
    const { token } = await addPerson(gateway.database, id, 'owner');
    const browser = new Browser(gateway.server.baseUrl, token);
    const may = plan === 'team' || plan === 'enterprise';
    for (const answer of [
      await put(browser, STABLE, false),
      await browser.put(TIER, { experimental: true }),
    ]) {
      expect(answer.status).toBe(may ? 200 : 403);
      if (!may) expect(bodyOf(answer)).toMatchObject({ reason: 'plan_required' });
    }
    const page = await browser.get('/app/rules');
    expect(page.status).toBe(200);
    expect(page.text.includes('Available on the Team plan')).toBe(!may);
    expect(page.text.includes(STABLE)).toBe(may);
  });

  test('a session opens nothing of the interface for keys', async () => {
    for (const path of [
      '/platform/v1/atr/rules',
      '/platform/v1/runs',
      '/platform/v1/risk-findings',
    ]) {
      expect((await owner.get(path)).status, path).toBe(401);
    }
    const { observeUrl } = gateway.server;
    const ingest = await request(`${observeUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: `sluice_session=${owner.token}` },
      body: JSON.stringify(traceBody([])),
    });
    expect(ingest.status).toBe(401);
  });
});

describe('keys', () => {
  const keys = () => listKeys(gateway.database, workspaceId, 100);

  test('are shown once, work with their limit, and are revoked', async () => {
    const made = await owner.submit('/app/keys', {
      kind: 'agent',
      name: 'collector <eu>',
      rate_limit_per_minute: '100000',
      prefix: 'obs',
    });
    expect(made.status).toBe(200);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const key = secretOf(made);
    expect(key).toMatch(/^sluice_obs_[A-Za-z0-9]{43}$/);
    const { observeUrl } = gateway.server;
    expect((await post(`${observeUrl}/v1/traces`, key, traceBody([]))).status).toBe(200);
    expect((await owner.get('/app/keys')).text).not.toContain(key);
    const listed = (await keys()).find(({ name }) => name === 'collector <eu>');
    expect(listed).toMatchObject({
      kind: 'agent',
      prefix: key.slice(0, 17),
      rateLimitPerMinute: 100_000,
      revokedAt: null,
    });
    const id = listed?.id;
    expect((await owner.submit(`/app/keys/${id}/revoke`)).status).toBe(303);
    await waitFor(
      async () => (await post(`${observeUrl}/v1/traces`, key, traceBody([]))).status === 401,
      { withinMs: 20_000, what: 'the revoked key to be refused' },
    );
    const entries = (await ledger()).slice(0, 2);
    expect(entries).toMatchObject([
      { action: 'key.revoked', subject: `key ${id}` },
      { action: 'key.created', subject: `key ${id}`, before: null },
    ]);
    expect(JSON.stringify(await ledger())).not.toContain(key);
  });

  test('have a limit of 1,000 by default, and of 1 to 100,000', async () => {
    const make = (name: string, limit?: string) =>
      owner.submit('/app/keys', {
        kind: 'workspace',
        name,
        ...(limit === undefined ? {} : { rate_limit_per_minute: limit }),
      });
    expect((await make('of the default')).status).toBe(200);
    const made = (await keys()).find(({ name }) => name === 'of the default');
    expect(made).toMatchObject({ rateLimitPerMinute: 1000 });
    expect((await make('reader', '1')).status).toBe(200);
    for (const limit of ['0', '-1', '1.5', '100001', 'ten', '']) {
      expect((await make('reader', limit)).status, limit).toBe(400);
    }
  });

  test.each(['0', '-1', '1e3', '99999999999', 'x', '2147483648'])(
    'there is no key "%s"',
    async (id) => {
      expect((await owner.submit(`/app/keys/${id}/revoke`)).status).toBe(404);
    },
  );
});

test('the workspace: its name and redaction, recorded', async () => {
  const change = (fields: Fields) => owner.submit('/app/settings', fields);
  expect((await change({})).status).toBe(400);
  expect((await change({ name: 'a\u202eb' })).status).toBe(400);
  expect((await change({ plan: 'enterprise' })).status).toBe(400);
  const held = async (): Promise<number | undefined> => {
    const { rows } = await gateway.database.query<{ held: number }>(
      'SELECT count(excerpt)::int AS held FROM findings WHERE workspace_id = $1',
      [workspaceId],
    );
    return rows[0]?.held;
  };
  expect(await held()).toBeGreaterThan(0);
  const done = await change({ name: 'Support <b>agents</b>', redact_excerpts: 'true' });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/app/settings']);
  const page = (await owner.get('/app/settings')).text;
  expect(page).toContain('Support &lt;b&gt;agents&lt;/b&gt;');
  expect(page).toContain('Redaction is on');
  expect(await held()).toBe(0);
  expect((await ledger()).slice(0, 2)).toMatchObject([
    {
      action: 'workspace.redact_excerpts',
      before: { redact_excerpts: false },
      after: { redact_excerpts: true },
    },
    {
      action: 'workspace.name',
      before: { name: gateway.workspace.slug },
      after: { name: 'Support <b>agents</b>' },
    },
  ]);
});

describe('the state of a selected run', () => {
  const RUN_FINDINGS = TRIAGE_FINDINGS_MAX + 5;
  const WORST = 'f'.repeat(32);

  /** One of each rule, alike in every run that has it. */
  const addFindings = (slug: string, count: number) =>
    gateway.database.query<{ id: string }>(
      `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity, category,
         corpus_version, description, condition_index, condition_description, field, surface,
         step_name, excerpt, recommended_actions,
         ${PLACED.columns}, match_digest)
       SELECT w.id, $2::uuid, 'rule ' || n, '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', 'n',
              'e', '[]', ${PLACED.values}, decode(md5(n::text), 'hex')
         FROM workspaces w, generate_series(1, $3::int) n WHERE w.slug = $1
       RETURNING replace(id::text, '-', '') AS id`,
      [slug, count === 1 ? '1'.repeat(32) : WORST, count],
    );

  test('is set for all its findings, by more than one change if need be, and for no others', async () => {
    const { slug, id } = gateway.workspace;
    await gateway.database.query('DELETE FROM findings WHERE workspace_id = $1', [id]);
    const { rows: own } = await addFindings(slug, RUN_FINDINGS);
    await addFindings(slug, 1);
    const selected = { [`group-${own[0]?.id}`]: 'on', state: 'closed', query: 'group_by=run' };
    expect((await owner.submit('/app/findings/triage', selected)).status).toBe(303);
    const { rows } = await gateway.database.query(
      `SELECT f.run_id = $2::uuid AS own, count(s.state)::int AS closed FROM findings f
         LEFT JOIN finding_states s ON s.workspace_id = f.workspace_id AND s.finding_id = f.id
        WHERE f.workspace_id = $1 GROUP BY 1 ORDER BY 1`,
      [id, WORST],
    );
    expect(rows).toEqual([
      { own: false, closed: 0 },
      { own: true, closed: RUN_FINDINGS },
    ]);
  });
});
