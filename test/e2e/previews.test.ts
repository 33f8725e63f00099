/** The rules that are suggested to be left off: by a preview of the workspace's own runs, and only by that. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listAudit } from '../../src/db/people/audit.ts';
import { openBrowser, type TestBrowser } from '../support/chromium.ts';
import { addPerson, type Person } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, rawSpan, traceBody } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

/** Rules of the experimental tier, and what each finds in the arguments of a tool. */
const NOISY = 'ATR-2026-00061';
const RARE = 'ATR-2026-01607';
const COMMANDS = {
  noisy: 'rm -rf / --no-preserve-root',
  rare: 'http://localhost:6379',
};
const RUNS = 120;
const NOISY_RUNS = 30;

let gateway: SharedGateway;
let owner: Person;
let browser: TestBrowser;
let page: Page;

const call = (command: string) => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'shell',
    'gen_ai.tool.call.arguments': JSON.stringify({ url: command }),
  };
  return rawSpan({
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  });
};

beforeAll(async () => {
  gateway = await openSharedGateway();
  const { database, workspace } = gateway;
  await database.query("UPDATE workspaces SET plan = 'team' WHERE id = $1", [workspace.id]);
  owner = await addPerson(database, workspace.id, 'owner');
  const commands = Array.from({ length: RUNS }, (_, index) =>
    index < NOISY_RUNS ? COMMANDS.noisy : index === NOISY_RUNS ? COMMANDS.rare : 'ls',
  );
  const body = traceBody(commands.map(call));
  const sent = await post(`${gateway.server.observeUrl}/v1/traces`, gateway.keys.agent, body);
  expect(sent.status, sent.text).toBe(200);
  await waitFor(
    async () => {
      const { rows } = await database.query<{ runs: number }>(
        `SELECT count(*)::int AS runs FROM runs WHERE workspace_id = $1 AND evaluation = 'evaluated'`,
        [workspace.id],
      );
      return rows[0]?.runs === RUNS;
    },
    { withinMs: 120_000, what: 'all runs are evaluated' },
  );
  if (chromiumPath === null) return;
  browser = await openBrowser();
  const { baseUrl } = gateway.server;
  await browser.context.addCookies([{ name: 'sluice_session', value: owner.token, url: baseUrl }]);
  page = await browser.context.newPage();
});
afterAll(async () => {
  await browser?.close();
  await gateway.close();
});

/** Opens the part of the Rules page about the tier. */
async function openTier() {
  await page.goto(`${gateway.server.baseUrl}/app/rules`);
  await page.locator('summary', { hasText: 'experimental tier' }).first().click();
  const tier = page.locator('#tier');
  const closed = tier.locator('summary', { hasText: 'Switch the experimental tier on' });
  if ((await closed.count()) > 0) await closed.click();
  return tier;
}

test.skipIf(chromiumPath === null)(
  'rules are suggested by a preview that the page asks for, and left off with one form',
  async () => {
    const before = await openTier();
    expect(await before.innerText()).toContain('Preview these rules on your own runs first');
    expect(await before.locator('[name=leave_off]').count()).toBe(0);
    await before.getByRole('button', { name: 'Preview the experimental tier' }).click();
    await page.getByText(/^Done: 120 of 120 runs looked at/).waitFor({ timeout: 120_000 });
    expect(await page.locator('table[aria-label="Results"]').innerText()).toContain(RARE);
    await page.getByRole('link', { name: 'Choose the rules to leave off' }).click();

    const after = await openTier();
    const list = await after.innerText();
    expect(list).toContain('fired in 25% of the runs: 30 of 120');
    expect(await after.locator('[name=leave_off]').getAttribute('value')).toBe(NOISY);
    await after.getByRole('button', { name: 'Switch on, leave the noisy rule off' }).click();
    await page.locator('summary', { hasText: '· experimental tier on' }).waitFor();

    const { entries } = await listAudit(gateway.database, gateway.workspace.id, null, 10);
    expect(entries.map(({ action, subject, actor }) => [action, subject, actor])).toEqual(
      expect.arrayContaining([
        ['rules.override', NOISY, owner.email],
        ['rules.experimental', expect.any(String), owner.email],
      ]),
    );
    // What is off is not suggested again, and the tier is on.
    const on = await openTier();
    expect(await on.innerText()).toContain('No rule fired on 1% of them or more');
    expect(await on.locator('[name=leave_off]').count()).toBe(0);
  },
);
