/**
 * The rules of a workspace in numbers: they follow every setting, add up to all rules, and are the
 * same in the API, on the pages, on the command line and in the start's summary. Settings of an
 * earlier plan stay in force and are removed by an owner; settings without effect are refused,
 * listed and removed.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  allRules,
  type OrphanedOverride,
  type RuleState,
  runningRules,
  type Snapshot,
  STATE_LABELS,
  type StateCounts,
  type SupportCounts,
} from '../../src/model/rules.ts';
import { runCommand } from '../support/command.ts';
import { addPerson, ledgerOf } from '../support/people.ts';
import { startServer } from '../support/server.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Gateway, openGateway, post, rawSpan, read, request, traceBody } from './gateway.ts';

interface Settings {
  readonly experimental: boolean;
  readonly counts: StateCounts;
  readonly corpus_counts: SupportCounts;
  readonly overrides: number;
  readonly orphaned_overrides: readonly (Omit<OrphanedOverride, 'ruleId'> & { rule_id: string })[];
  readonly snapshot: Snapshot;
}
interface RuleItem {
  readonly id: string;
  readonly status: string;
  readonly support: string;
  readonly enabled: boolean;
  readonly decided_by: string;
  readonly state: RuleState;
}

const API = '/platform/v1/atr';
const STABLE = 'ATR-2026-00001';
const GONE = 'ATR-2020-00001';

let gateway: Gateway;
let workspaceId: number;
let owner: Browser;
let rules: readonly RuleItem[];

beforeAll(async () => {
  gateway = await openGateway();
  const { rows } = await gateway.database.query<{ id: number }>(
    "UPDATE workspaces SET plan = 'team' RETURNING id",
  );
  workspaceId = rows[0]?.id ?? 0;
  owner = await addBrowser('owner');
  rules = await allItems();
});
afterAll(() => gateway.close());

const get = <Body>(path: string) =>
  read<Body>(`${gateway.server.baseUrl}${API}${path}`, gateway.keys.workspace);
const settings = () => get<Settings>('/settings');

async function allItems(): Promise<RuleItem[]> {
  const pages = [1, 2].map((page) =>
    get<{ rules: RuleItem[] }>(`/rules?per_page=500&page=${page}`),
  );
  return (await Promise.all(pages)).flatMap((page) => page.rules);
}

async function addBrowser(role: 'owner' | 'admin'): Promise<Browser> {
  const { token } = await addPerson(gateway.database, workspaceId, role);
  return new Browser(gateway.server.baseUrl, token);
}

const put = (ruleId: string, enabled: boolean | null, browser = owner) =>
  browser.put(`/app/api/atr/rules/${ruleId}?workspace=default`, { enabled });
const setTier = (experimental: boolean) =>
  owner.put('/app/api/atr/settings?workspace=default', { experimental });

/** Written by the version before, which refused none of these. */
async function insertOverride(ruleId: string, enabled: boolean): Promise<void> {
  await gateway.database.query(
    'INSERT INTO rule_overrides (workspace_id, rule_id, enabled) VALUES ($1, $2, $3)',
    [workspaceId, ruleId, enabled],
  );
}

/** As the page says it: `51 of 785 rules run`, and the number of each state in the table. */
async function shownOn(path: string): Promise<{ running: string; states: StateCounts }> {
  const { text } = await owner.get(path);
  const [running = ''] = /[\d,]+ of [\d,]+ rules run/.exec(text) ?? [];
  const [, table = ''] =
    /<caption class="hidden">Rules of this workspace by state<\/caption>([\s\S]*?)<\/table>/.exec(
      text,
    ) ?? [];
  const states = Object.entries(STATE_LABELS).map(([state, label]) => {
    const row = table.split('<tr>').find((one) => one.includes(`${label}<`)) ?? '';
    const [, number = ''] = /<td class="number">([\d,]+)<\/td>/.exec(row) ?? [];
    return [state, Number(number.replaceAll(',', ''))];
  });
  return { running, states: Object.fromEntries(states) as StateCounts };
}

/** The counts of the API, after comparing them with every other place that shows them. */
async function countsEverywhere(): Promise<StateCounts> {
  const { counts, corpus_counts } = await settings();
  expect(allRules(counts)).toBe(rules.length);
  expect(allRules(corpus_counts)).toBe(rules.length);
  const list = await get<Settings>('/rules?per_page=1');
  expect([list.counts, list.corpus_counts]).toEqual([counts, corpus_counts]);
  for (const [state, count] of Object.entries(counts)) {
    const { total } = await get<{ total: number }>(`/rules?state=${state}&per_page=1`);
    expect(total, state).toBe(count);
  }
  const enabled = await get<{ total: number }>('/rules?enabled=true&per_page=1');
  expect(enabled.total).toBe(runningRules(counts));
  const running = `${runningRules(counts)} of ${rules.length} rules run`;
  for (const path of ['/app/rules', '/app/settings']) {
    expect(await shownOn(path), path).toEqual({ running, states: counts });
  }
  return counts;
}

const command = (...args: string[]) => runCommand(args, { DATABASE_URL: gateway.databaseUrl });

test('counts follow the tier and single switches, add up, and are the same everywhere', async () => {
  const before = await countsEverywhere();
  const { corpus_counts } = await settings();
  expect(before.off_by_tier).toBeGreaterThan(500);
  expect(before.off_by_override).toBe(0);
  expect(before).toMatchObject({ unsupported: corpus_counts.unsupported });
  const supported = corpus_counts.as_written + corpus_counts.degraded;
  expect(runningRules(before) + before.off_by_tier + before.draft_or_deprecated).toBe(supported);

  expect((await setTier(true)).status).toBe(200);
  const withTier = await countsEverywhere();
  expect(withTier.off_by_tier).toBe(0);
  expect(runningRules(withTier)).toBe(runningRules(before) + before.off_by_tier);

  expect((await put(STABLE, false)).status).toBe(200);
  const byHand = await countsEverywhere();
  expect(byHand.off_by_override).toBe(1);
  expect(runningRules(byHand)).toBe(runningRules(withTier) - 1);
  // The corpus's own counts are the same throughout.
  expect((await settings()).corpus_counts).toEqual(corpus_counts);

  await put(STABLE, null);
  await setTier(false);
  expect(await countsEverywhere()).toEqual(before);
});

test('the overview shows them once something has arrived', async () => {
  const { observeUrl } = gateway.server;
  const sent = await post(`${observeUrl}/v1/traces`, gateway.keys.agent, traceBody([rawSpan()]));
  expect(sent.status).toBe(200);
  const { counts } = await settings();
  expect((await shownOn('/app')).states).toEqual(counts);
});

test('the commands count the same, and list rules by state', async () => {
  await put(STABLE, false);
  const { counts, corpus_counts, snapshot } = await settings();
  const shown = await command('workspace', 'rules', '--json');
  expect(JSON.parse(shown.stdout)).toEqual({
    workspace: 'default',
    counts,
    corpus_counts,
    snapshot,
    experimental: false,
    overrides: { [STABLE]: false },
    orphaned_overrides: [],
  });
  const text = await command('workspace', 'rules');
  expect(text.stdout).toContain(`${runningRules(counts)} of ${rules.length} rules run`);
  expect(text.stdout).toContain(`off: ${counts.off_by_tier} experimental, 1 set manually`);
  expect(text.stdout).toContain(`corpus 4.0.0 (${snapshot.identity.slice(0, 12)})`);
  const listed = await command(
    'rules',
    'list',
    '--workspace',
    'default',
    '--state',
    'off_by_override',
  );
  expect(listed.stdout).toContain(STABLE);
  expect(listed.stdout).toContain(`1 of ${rules.length} rules listed`);
  const asJson = await command('rules', 'list', '--workspace', 'default', '--json');
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    workspace: 'default',
    experimental: false,
    counts,
    corpus_counts,
    snapshot,
  });
  const one = await command('rules', 'show', STABLE, '--workspace', 'default');
  expect(one.stdout).toContain('Off, set manually');
  const alone = await command('rules', 'list', '--state', 'off_by_override');
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining('--workspace') });
  await put(STABLE, null);
});

test('the start prints them for the first workspace, with the identity of the corpus', async () => {
  await setTier(true);
  const { counts, snapshot } = await settings();
  const second = await startServer({ DATABASE_URL: gateway.databaseUrl });
  try {
    const summary = second.stdout();
    expect(summary).toContain(`${runningRules(counts)} of ${rules.length} rules run`);
    expect(summary).toContain('(workspace "default")');
    expect(summary).toContain(`corpus 4.0.0 (${snapshot.identity.slice(0, 12)})`);
    const metrics = await request(second.metricsUrl);
    const labels = `version="4.0.0",date="${snapshot.date}",identity="${snapshot.identity}"`;
    expect(metrics.text).toContain(`sluice_corpus_info{${labels}} 1`);
  } finally {
    await second.stop();
    await setTier(false);
  }
});

describe('a rule that cannot run', () => {
  const DECIDER: Readonly<Record<string, string>> = {
    engine_unsupported: 'support',
    fails_own_examples: 'own_examples',
    status_refused: 'tier',
  };
  const cannotRun = () =>
    rules.filter(({ state }) =>
      ['unsupported', 'draft_or_deprecated', 'fails_own_examples'].includes(state),
    );

  test('is overridden neither way, for the reason that decides it: every such rule', async () => {
    const before = (await ledgerOf(gateway.database, workspaceId)).length;
    expect(cannotRun().length).toBeGreaterThan(50);
    // A user of its own: the requests count towards the caps of its session.
    const browser = await addBrowser('admin');
    for (const { id, decided_by, enabled } of cannotRun()) {
      expect(enabled, id).toBe(false);
      for (const to of [true, false]) {
        const answer = await put(id, to, browser);
        expect(answer.status, id).toBe(409);
        const { reason } = bodyOf<{ reason: string }>(answer);
        expect(DECIDER[reason], id).toBe(decided_by);
      }
    }
    expect((await ledgerOf(gateway.database, workspaceId)).length).toBe(before);
    expect((await settings()).overrides).toBe(0);
  });

  test('keeps no setting of an earlier version: it is listed and removed', async () => {
    const draft = cannotRun().find(({ state }) => state === 'draft_or_deprecated')?.id ?? '';
    await insertOverride(draft, false);
    await insertOverride(GONE, true);
    expect((await settings()).orphaned_overrides).toEqual([
      {
        rule_id: GONE,
        enabled: true,
        reason: 'not_in_snapshot',
        detail: `${GONE} is not a rule of this snapshot`,
      },
      {
        rule_id: draft,
        enabled: false,
        reason: 'status_refused',
        detail: expect.stringContaining(draft),
      },
    ]);
    const page = (await owner.get('/app/rules')).text;
    expect(page).toContain('Settings without effect');
    for (const id of [draft, GONE]) expect(page).toContain(`action="/app/rules/${id}?`);
    const listed = (await command('workspace', 'rules')).stdout;
    expect(listed).toContain(`${GONE} is not a rule of this snapshot`);
    expect(listed).toContain(draft);

    // By the form of the page, and by the interface for programs.
    const form = await owner.submit(`/app/rules/${GONE}`, { enabled: 'null' });
    expect([form.status, form.headers.get('location')]).toEqual([303, '/app/rules']);
    expect((await put(draft, null)).status).toBe(200);
    expect((await settings()).orphaned_overrides).toEqual([]);
    const [last, former] = await ledgerOf(gateway.database, workspaceId);
    expect([last, former]).toMatchObject([
      { action: 'rules.override', subject: draft, before: { enabled: false } },
      { action: 'rules.override', subject: GONE, before: { enabled: true } },
    ]);
    // Removed once; a rule that neither the snapshot nor the workspace knows is unknown.
    expect((await put(GONE, null)).status).toBe(404);
    expect((await put(GONE, false)).status).toBe(404);
  });
});

describe('a workspace that goes to a smaller plan', () => {
  test('keeps its settings, says so everywhere, and an owner removes them', async () => {
    await setTier(true);
    await put(STABLE, false);
    const before = (await settings()).counts;
    const down = await command('workspace', 'plan', 'free');
    expect(down.stdout).toContain(
      'Its rule settings are kept: the experimental tier stays on, and 1 rule stays set manually.',
    );
    expect((await settings()).counts).toEqual(before);
    const page = (await owner.get('/app/rules')).text;
    expect(page).toContain('These settings still apply on the free plan.');
    expect(page).toContain('The experimental tier is on; 1 rule is set manually.');
    expect((await shownOn('/app/rules')).states).toEqual(before);
    // The switches need the plan; the reset needs an owner.
    expect((await setTier(false)).status).toBe(403);
    expect((await put(STABLE, null)).status).toBe(403);
    const admin = await addBrowser('admin');
    expect((await admin.submit('/app/rules/reset')).status).toBe(403);

    expect((await owner.submit('/app/rules/reset')).status).toBe(303);
    const after = await settings();
    expect(after).toMatchObject({ experimental: false, overrides: 0 });
    expect(after.counts.off_by_tier).toBeGreaterThan(500);
    const [entry] = await ledgerOf(gateway.database, workspaceId);
    expect(entry).toMatchObject({
      action: 'rules.reset',
      before: { experimental: true, overrides: { [STABLE]: false } },
      after: { experimental: false, overrides: {} },
    });
    // Nothing is left to reset, and nothing is recorded.
    expect((await owner.submit('/app/rules/reset')).status).toBe(303);
    expect((await ledgerOf(gateway.database, workspaceId))[0]).toEqual(entry);
    const again = await command('workspace', 'plan', 'pro');
    expect(again.stdout).not.toContain('kept');
    await command('workspace', 'plan', 'team');
  });
});
