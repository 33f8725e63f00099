/**
 * The dashboard in a browser with JavaScript switched off: everything that can be changed is changed
 * by a plain form.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openBrowser, type TestBrowser } from '../support/chromium.ts';
import { addPerson } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { sendAttack } from './attack.ts';
import { Browser } from './browser.ts';
import { post, rawSpan, read, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const RULE = 'ATR-2026-00021';

let gateway: SharedGateway;
beforeAll(async () => {
  gateway = await openSharedGateway();
  await gateway.database.query("UPDATE workspaces SET plan = 'team' WHERE id = $1", [
    gateway.workspace.id,
  ]);
});
afterAll(() => gateway.close());

describe.skipIf(chromiumPath === null)('without a script', () => {
  let browser: TestBrowser;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser({
      javaScriptEnabled: false,
      viewport: { width: 1280, height: 900 },
    });
    page = await browser.context.newPage();
    await open('/app');
    await page.getByLabel('E-mail address').fill(gateway.owner.email);
    await page.getByLabel('Password').fill(gateway.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  });
  afterAll(() => browser.close());

  const open = (path: string) => page.goto(`${gateway.server.baseUrl}${path}`);
  const path = () => new URL(page.url()).pathname;
  const main = () => page.locator('main').innerText();

  test('a rule is switched off, and left to its tier again', async () => {
    await open(`/app/rules?q=${RULE}`);
    const group = page.getByRole('group', { name: `Switch ${RULE}` });
    await group.getByRole('button', { name: 'Off' }).click();
    expect(path()).toBe(`/app/rules/${RULE}`);
    expect(await main()).toContain('set manually');
    await group.getByRole('button', { name: 'Default' }).click();
    expect(await main()).toContain('On (default)');
  });

  test('the experimental tier is switched on', async () => {
    await open('/app/rules');
    await page.locator('.page-fold > summary').click();
    await page.getByText('Switch the experimental tier on').click();
    await page.getByRole('button', { name: 'Switch on with all rules' }).click();
    expect(await main()).toContain('experimental tier on');
  });

  test('a setting without effect is listed and removed', async () => {
    await gateway.database.query(
      `INSERT INTO rule_overrides (workspace_id, rule_id, enabled)
       VALUES ($1, 'ATR-2020-00001', false)`,
      [gateway.workspace.id],
    );
    await open('/app/rules');
    const table = page.getByRole('table', { name: 'Settings without effect' });
    expect(await table.innerText()).toContain('ATR-2020-00001 is not a rule of this snapshot');
    await table.getByRole('button', { name: 'Remove the setting of ATR-2020-00001' }).click();
    expect(path()).toBe('/app/rules');
    expect(await table.count()).toBe(0);
  });

  test('settings of an earlier plan are reset after a warning, and the counts follow', async () => {
    const setPlan = (plan: string) =>
      gateway.database.query('UPDATE workspaces SET plan = $1 WHERE id = $2', [
        plan,
        gateway.workspace.id,
      ]);
    const running = async () => Number(/(\d+) of \d+ rules run/.exec(await main())?.[1]);
    await setPlan('free');
    await open('/app/rules');
    expect(await main()).toContain('These settings still apply on the free plan.');
    const before = await running();
    const button = page.getByRole('button', { name: 'Reset to the default rules' });
    expect(await button.isVisible()).toBe(false);
    await page.locator('summary', { hasText: 'Reset to the default rules' }).click();
    await button.click();
    expect(await main()).not.toContain('settings still apply');
    expect(await running()).toBeLessThan(before - 500);
    await setPlan('team');
  });

  test('a key is made, shown once, and revoked after a word of warning', async () => {
    await open('/app/keys');
    await page.getByLabel('Name', { exact: true }).fill('a collector');
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = await page.locator('.secret').innerText();
    expect(secret).toMatch(/^sluice_live_/);
    expect(await main()).toContain(`Authorization=Bearer%20${secret}`);
    const check = await page.getByRole('link', { name: 'Check now' }).getAttribute('href');
    await open(String(check));
    expect(await main()).toContain('Waiting for the first span…');
    expect(await main()).not.toContain(secret);
    await post(`${gateway.server.observeUrl}/v1/traces`, secret, traceBody([rawSpan()]));
    await open(String(check));
    expect(await main()).toContain('The first run arrived');
    await open('/app/keys');
    const row = page.locator('tr', { hasText: 'a collector' });
    const button = row.getByRole('button', { name: 'Revoke a collector' });
    expect(await button.isVisible()).toBe(false);
    await row.locator('td[data-label="Requests per minute"] summary').click();
    await row.getByLabel('Requests per minute of a collector').fill('77');
    await row.getByRole('button', { name: 'Change limit' }).click();
    expect(path()).toBe('/app/keys');
    expect(await row.innerText()).toContain('77');
    await row.locator('td[data-label="Status"] summary').click();
    await button.click();
    expect(path()).toBe('/app/keys');
    expect(await row.innerText()).toContain('revoked');
  });

  test('somebody is invited, and the invitation revoked', async () => {
    await open('/app/members');
    await page.getByLabel('E-mail address', { exact: true }).fill('new@people.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    expect(await page.locator('.secret').innerText()).toContain('/app/invitation/');
    await open('/app/members');
    await page.getByRole('button', { name: /^Revoke the invitation/ }).click();
    expect(await page.getByRole('button', { name: /^Revoke the invitation/ }).count()).toBe(0);
  });

  test('the workspace is renamed, and a name of nothing is refused in words', async () => {
    await open('/app/settings');
    await page.getByLabel('Name', { exact: true }).fill('Crew & Co');
    await page.getByRole('button', { name: 'Rename' }).click();
    expect(await page.locator('.bar').innerText()).toContain('Crew & Co');
    await page.getByLabel('Name', { exact: true }).fill(' ');
    await page.getByRole('button', { name: 'Rename' }).click();
    expect(await page.locator('h1').innerText()).not.toBe('Settings');
    await page.getByRole('link', { name: 'Back to the overview' }).click();
    expect(path()).toBe('/app');
  });

  test('selected findings are assigned and closed, and the list comes back at the next line', async () => {
    for (const name of ['one', 'two', 'four']) await sendAttack(gateway, gateway.keys.agent, name);
    await open('/app/findings?sort=oldest&agent=o');
    const rows = page.locator('table[aria-label=Findings] tbody tr');
    const [, second, third] = await rows.evaluateAll((all) => all.map((row) => row.id));
    const here = () => new URL(page.url());
    await rows.first().getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Assign to me' }).click();
    expect(await main()).toContain('1 finding assigned to you.');
    expect(here().hash).toBe(`#${second}`);
    expect(await rows.first().innerText()).toContain(gateway.owner.email);
    await rows.first().getByRole('checkbox').check();
    await page.locator('.bulk select').selectOption('closed');
    await page.getByRole('button', { name: 'Set state' }).click();
    expect(await main()).toContain('1 finding set to closed.');
    expect(here().searchParams.get('agent')).toBe('o');
    expect(await rows.first().getAttribute('id')).toBe(second);
    await rows.first().getByRole('link').first().click();
    await page.getByLabel('State').selectOption('closed');
    await page.getByRole('button', { name: 'Save and open next' }).click();
    expect(path()).toBe(`/app/findings/${third?.slice(2)}`);
    await page.locator('.crumb a').click();
    expect(here().hash).toBe(`#${third}`);
    expect(await rows.first().getAttribute('id')).toBe(third);
  });

  test('excerpts are redacted, and no longer', async () => {
    await open('/app/settings');
    await page.getByText('Redact excerpts').click();
    await page.getByRole('button', { name: 'Redact and delete stored excerpts' }).click();
    expect(await main()).toContain('Redaction is on');
    await page.getByRole('button', { name: 'Stop redacting' }).click();
    expect(await main()).toContain('Findings keep a short excerpt');
  });

  test('all of it is in the ledger', async () => {
    await open('/app/audit');
    const ledger = await page.locator('table[aria-label="Audit log"]').innerText();
    for (const action of [
      'rules.override',
      'key.created',
      'key.revoked',
      'workspace.name',
      'workspace.redact_excerpts',
    ]) {
      expect(ledger).toContain(action);
    }
  });
});

describe('a form', () => {
  const FIELDS = { 'content-type': 'application/x-www-form-urlencoded' };
  const send = (browser: Browser, path: string, body: string, headers = {}) =>
    browser.send('POST', `${path}?workspace=${gateway.workspace.slug}`, {
      body,
      headers: { ...FIELDS, ...headers },
    });
  const FORMS: readonly (readonly [string, string])[] = [
    [`/app/rules/${RULE}`, 'enabled=false'],
    ['/app/rules', 'experimental=false'],
    ['/app/rules/reset', ''],
    ['/app/keys', 'name=x&kind=agent&rate_limit_per_minute=1'],
    ['/app/keys/1/revoke', ''],
    ['/app/members/1', 'role=member'],
    ['/app/members/1/remove', ''],
    ['/app/invitations', 'email=x@people.test&role=member'],
    ['/app/invitations/1/revoke', ''],
    ['/app/settings', 'name=x'],
  ];
  const OWN = ['/app/workspace', '/app/password', '/app/sessions/end-others'];

  async function visitor(role: 'owner' | 'member'): Promise<Browser> {
    const person = await addPerson(gateway.database, gateway.workspace.id, role);
    return new Browser(gateway.server.baseUrl, person.token);
  }
  const ledger = async (): Promise<string> => {
    const { rows } = await gateway.database.query<{ entries: string }>(
      'SELECT count(*)::text AS entries FROM audit_ledger WHERE workspace_id = $1',
      [gateway.workspace.id],
    );
    return rows[0]?.entries ?? '';
  };

  test('of another site changes nothing', async () => {
    const owner = await visitor('owner');
    const before = await ledger();
    for (const [path, body] of [...FORMS, ...OWN.map((one) => [one, ''] as const)]) {
      const answer = await send(owner, path, body, { origin: 'https://evil.test' });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(await ledger()).toBe(before);
  });

  test('of a member changes nothing of the workspace', async () => {
    const member = await visitor('member');
    const before = await ledger();
    for (const [path, body] of FORMS) {
      const answer = await send(member, path, body);
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(await ledger()).toBe(before);
  });

  test('without a session leads to the sign-in, and not back to where a form went', async () => {
    const nobody = new Browser(gateway.server.baseUrl);
    for (const [path, body] of FORMS) {
      const answer = await send(nobody, path, body);
      expect([answer.status, answer.headers.get('location')]).toEqual([
        303,
        '/app/sign-in?next=%2Fapp',
      ]);
    }
  });

  test('with an API key is refused', async () => {
    const owner = await visitor('owner');
    const headers = { authorization: `Bearer ${gateway.keys.workspace}` };
    for (const [path, body] of FORMS) {
      expect((await send(owner, path, body, headers)).status).toBe(403);
    }
  });

  test('takes a form and nothing else, and tells what does not fit', async () => {
    const owner = await visitor('owner');
    const json = { 'content-type': 'application/json' };
    expect((await send(owner, '/app/settings', '{"name":"x"}', json)).status).toBe(415);
    const answer = await send(owner, '/app/keys', 'name=x&kind=agent&rate_limit_per_minute=0');
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('rate_limit_per_minute');
  });

  test('switches no rule that the engine or the corpus refuses', async () => {
    const owner = await visitor('owner');
    const list = `${gateway.server.baseUrl}/platform/v1/atr/rules?support=unsupported&per_page=1`;
    const { rules } = await read<{ rules: { id: string }[] }>(list, gateway.keys.workspace);
    const answer = await send(owner, `/app/rules/${rules[0]?.id}`, 'enabled=true');
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('changes a password, ends all sessions, and begins a new one', async () => {
    const former = 'the former password';
    const person = await addPerson(gateway.database, gateway.workspace.id, 'member', {
      password: former,
    });
    const browser = new Browser(gateway.server.baseUrl, person.token);
    const fields = new URLSearchParams({
      username: person.email,
      current_password: former,
      new_password: 'another long password',
    });
    const answer = await send(browser, '/app/password', fields.toString());
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/app/settings']);
    expect(browser.token).not.toBe(person.token);
    expect((await browser.get('/app/settings')).status).toBe(200);
    const stale = new Browser(gateway.server.baseUrl, person.token);
    expect((await stale.get('/app/settings')).status).toBe(303);
  });
});
