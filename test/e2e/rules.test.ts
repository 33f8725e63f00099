/**
 * Reading the rules and the settings of a running server: the pinned snapshot with its live counts,
 * filters that mean what they say, pages that fit together, the providers list.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { someOf } from '../support/cases.ts';
import { type Gateway, openGateway, read, request } from './gateway.ts';

interface RuleItem {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly support: string;
  readonly category: string;
  readonly enabled: boolean;
  readonly decided_by: string;
  readonly maturity: string | null;
  readonly wild_fp_rate: number | null;
  readonly reference_ids: readonly string[];
}
interface RulePage {
  readonly snapshot: {
    version: string;
    date: string;
    files: number;
    sha256: string;
    identity: string;
  };
  readonly experimental: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly corpus_counts: Readonly<Record<string, number>>;
  readonly page: number;
  readonly per_page: number;
  readonly total: number;
  readonly total_pages: number;
  readonly rules: readonly RuleItem[];
}

const PATH = '/platform/v1/atr/rules';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await openGateway({
    OAUTH_GOOGLE_CLIENT_ID: 'id',
    OAUTH_GOOGLE_CLIENT_SECRET: 'secret',
    OAUTH_GITHUB_CLIENT_ID: 'id',
    OAUTH_GITHUB_CLIENT_SECRET: 'secret',
    OAUTH_GITLAB_CLIENT_ID: 'id',
  });
});
afterAll(() => gateway.close());

function get<Body>(path: string, key = gateway.keys.workspace): Promise<Body> {
  return read<Body>(`${gateway.server.baseUrl}${path}`, key);
}

/** Every rule of a query, page by page. */
async function walk(query: string, perPage: number): Promise<RuleItem[]> {
  const rules: RuleItem[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await get<RulePage>(`${PATH}?${query}&per_page=${perPage}&page=${page}`);
    rules.push(...answer.rules);
    if (page >= answer.total_pages) {
      expect(rules).toHaveLength(answer.total);
      return rules;
    }
  }
}

test('the list: snapshot, counts that add up, the first page of fifty', async () => {
  const list = await get<RulePage>(PATH);
  expect(list).toMatchObject({
    snapshot: {
      version: '4.0.0',
      files: 785,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      identity: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
    experimental: false,
    page: 1,
    per_page: 50,
    total: 785,
    total_pages: 16,
  });
  expect(list.rules).toHaveLength(50);
  for (const counts of [list.counts, list.corpus_counts]) {
    expect(Object.values(counts).reduce((total, count) => total + count, 0)).toBe(785);
  }
  expect(Object.keys(list.corpus_counts).sort()).toEqual([
    'as_written',
    'degraded',
    'fails_own_examples',
    'unsupported',
  ]);
});

test('pages fit together: every rule once', async () => {
  const rules = await walk('', 100);
  expect(new Set(rules.map(({ id }) => id)).size).toBe(785);
  const past = await get<RulePage>(`${PATH}?page=99`);
  expect(past).toMatchObject({ total: 785, rules: [] });
});

test('each filter gives what it says, and the counts agree with it', async () => {
  const all = await walk('', 500);
  const { corpus_counts: counts } = await get<RulePage>(PATH);
  const cases = [
    ['status=stable', (rule: RuleItem) => rule.status === 'stable'],
    ['support=degraded', (rule: RuleItem) => rule.support === 'degraded'],
    ['category=tool-poisoning', (rule: RuleItem) => rule.category === 'tool-poisoning'],
    ['maturity=stable', (rule: RuleItem) => rule.maturity === 'stable'],
    [
      'reference=aml.t0051',
      (rule: RuleItem) => rule.reference_ids.some((id) => /^AML\.T0051(\.|$)/.test(id)),
    ],
    ['reference=LLM04', (rule: RuleItem) => rule.reference_ids.includes('LLM04:2025')],
    ['reference=AML.T9999', () => false],
    ['enabled=true', (rule: RuleItem) => rule.enabled],
    ['enabled=false&status=stable', (rule: RuleItem) => !rule.enabled && rule.status === 'stable'],
  ] as const;
  for (const [query, holds] of cases) {
    expect(await walk(query, 500), query).toEqual(all.filter(holds));
  }
  for (const [support, count] of Object.entries(counts)) {
    expect((await get<RulePage>(`${PATH}?support=${support}`)).total, support).toBe(count);
  }
  const words = await walk('q=CREDENTIAL%20agent%20output', 500);
  expect(words.map(({ id }) => id)).toContain('ATR-2026-00021');
});

test('the noisiest rule by its authors is first when they are sorted by noise', async () => {
  const { rules } = await get<RulePage>(`${PATH}?sort=noise&per_page=3`);
  expect(rules[0]).toMatchObject({
    id: 'ATR-2026-00061',
    wild_fp_rate: 52.58,
    wild_samples: 5352,
    wild_validated: '2026-08-05',
    confidence: 57,
    maturity: 'experimental',
  });
  const rates = rules.map((one) => one.wild_fp_rate ?? -1);
  expect(rates).toEqual(rates.toSorted((a, b) => b - a));
});

test('without the experimental tier exactly the runnable stable rules are enabled', async () => {
  const rules = await walk('', 500);
  for (const { id, status, support, enabled, decided_by } of someOf(rules)) {
    const isRunnable = support === 'as_written' || support === 'degraded';
    expect(enabled, id).toBe(isRunnable && status === 'stable');
    const decider = support === 'unsupported' ? 'support' : isRunnable ? 'tier' : 'own_examples';
    expect(decided_by, id).toBe(decider);
  }
});

test('one rule in full', async () => {
  const rule = await get<Record<string, unknown>>(`${PATH}/ATR-2026-00001`);
  expect(rule).toMatchObject({
    id: 'ATR-2026-00001',
    title: 'Direct Prompt Injection via User Input',
    severity: 'high',
    status: 'stable',
    category: 'prompt-injection',
    support: 'degraded',
    enabled: true,
    decided_by: 'tier',
    condition: 'any',
    override: null,
    unsupported_reasons: expect.any(Array),
    own_examples: {
      true_positives: expect.any(Number),
      true_negatives: expect.any(Number),
      failed: [],
    },
  });
  const conditions = rule.conditions as { supported: boolean; surfaces: string[] }[];
  expect(conditions).toHaveLength(46);
  expect(conditions[15]).toMatchObject({
    index: 15,
    field: 'user_input',
    operator: 'regex',
    supported: false,
    reason: { code: expect.any(String), message: expect.any(String) },
  });
  expect(conditions[0]).toMatchObject({
    surfaces: ['step_input', 'tool_args'],
    supported: true,
    reason: null,
  });
  const missing = await request(`${gateway.server.baseUrl}${PATH}/ATR-2026-99999`, {
    headers: { authorization: `Bearer ${gateway.keys.workspace}` },
  });
  expect(missing.status).toBe(404);
});

test('the settings say what the list says', async () => {
  const { snapshot, counts, corpus_counts, experimental } = await get<RulePage>(PATH);
  expect(await get('/platform/v1/atr/settings')).toEqual({
    experimental,
    counts,
    corpus_counts,
    overrides: 0,
    orphaned_overrides: [],
    snapshot,
  });
});

test('the settings of a workspace change its list, and only its own', async () => {
  const own = await gateway.addWorkspace('bold');
  const { database } = gateway;
  await database.query('UPDATE workspaces SET experimental = true WHERE id = $1', [own.id]);
  await database.query(
    `INSERT INTO rule_overrides (workspace_id, rule_id, enabled)
     VALUES ($1, 'ATR-2026-00001', false)`,
    [own.id],
  );
  const theirs = await get<RulePage>(`${PATH}?enabled=true`, own.workspace);
  const ours = await get<RulePage>(`${PATH}?enabled=true`);
  expect(theirs.experimental).toBe(true);
  expect(theirs.total).toBeGreaterThan(ours.total + 500);
  expect(await get(`${PATH}/ATR-2026-00001`, own.workspace)).toMatchObject({
    enabled: false,
    decided_by: 'override',
    override: false,
  });
  expect(await get(`${PATH}/ATR-2026-00001`)).toMatchObject({ enabled: true, override: null });
});

test('unusable parameters are named, all of them', async () => {
  const query =
    'status=new&support=none&category=atr_tool_poisoning&enabled=yes&page=0&per_page=501';
  const answer = await request(`${gateway.server.baseUrl}${PATH}?${query}`, {
    headers: { authorization: `Bearer ${gateway.keys.workspace}` },
  });
  expect(answer.status).toBe(400);
  const { errors } = JSON.parse(answer.text) as { errors: { path: string; message: string }[] };
  expect(errors.map(({ path }) => path).sort()).toEqual([
    'category',
    'enabled',
    'page',
    'per_page',
    'status',
    'support',
  ]);
});

test.each([PATH, `${PATH}/ATR-2026-00001`, '/platform/v1/atr/settings'])(
  '%s is for workspace keys',
  async (path) => {
    const url = `${gateway.server.baseUrl}${path}`;
    expect((await request(url)).status).toBe(401);
    const headers = { authorization: `Bearer ${gateway.keys.agent}` };
    expect((await request(url, { headers })).status).toBe(403);
  },
);

test('the providers with both halves, in order, for any key', async () => {
  const path = '/api/v1/auth/oauth/providers';
  const expected = { providers: ['github', 'google'], total: 2 };
  expect(await get(path)).toEqual(expected);
  expect(await get(path, gateway.keys.agent)).toEqual(expected);
  expect((await request(`${gateway.server.baseUrl}${path}`)).status).toBe(401);
  const cookie = { cookie: 'session=anything' };
  const answer = await request(`${gateway.server.baseUrl}${path}`, { headers: cookie });
  expect(answer.status).toBe(401);
});

test('a provider with one half is left out, and the start warns of the missing setting', async () => {
  const { baseUrl, stderr } = gateway.server;
  expect(stderr()).toContain(
    'OAUTH_GITLAB_CLIENT_SECRET is not set: the provider gitlab is left out',
  );
  const page = await request(`${baseUrl}/app/sign-in`);
  expect(page.text).toContain('google');
  expect(page.text).not.toContain('gitlab');
});

test('probes and metrics are open', async () => {
  const { baseUrl, observeUrl, metricsUrl } = gateway.server;
  for (const url of [baseUrl, observeUrl]) {
    const health = await request(`${url}/health`);
    expect(JSON.parse(health.text)).toEqual({ status: 'healthy' });
    const ready = await request(`${url}/ready`);
    expect(ready.status).toBe(200);
    expect(JSON.parse(ready.text)).toEqual({
      status: 'ready',
      probes: {
        db: 'ok',
        migrations: 'ok',
        corpus: 'ok',
        pass: 'ok',
        clock: 'ok',
        workspace: 'ok',
        accepting: 'ok',
      },
    });
    expect((await request(`${url}/health`, { method: 'HEAD' })).status).toBe(200);
  }
  const metrics = await request(metricsUrl);
  expect(metrics.status).toBe(200);
  expect(metrics.text).toContain('# TYPE');
  expect((await request(`${baseUrl}/metrics`)).status).toBe(404);
});
