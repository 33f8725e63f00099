/**
 * Incidents of a large workspace (`npm run demo -- --large`): the planted attacks are on top, what is noisy is not, and
 * a browser reaches the worst run and what happened around it in a few clicks.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { openBrowser } from '../support/chromium.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addPerson } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { ROOT, startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { openEyes } from './gateway.ts';

interface Incident {
  readonly run_id: string;
  readonly agent: string | null;
  readonly repeats: number;
  readonly runs: number;
  readonly session_id: string | null;
  readonly chain: readonly { readonly role: string | null; readonly step: number }[];
  readonly reasons: readonly { readonly part: string; readonly points: number }[];
}

const FILLED_WITHIN_MS = 600_000;
let database: TestDatabase;
let server: TestServer;
let incidents: readonly Incident[];
/** title of a planted attack and the run, in the order of sending */
let attacks: readonly { readonly title: string; readonly runId: string }[];

async function fill(settings: Record<string, string>): Promise<void> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', 'demo/demo.ts', '--large'], {
    cwd: ROOT,
    env: { PATH, HOME, TSX_DISABLE_CACHE: '1', NO_COLOR: '1', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const out = await text(child.stdout);
  attacks = [...out.matchAll(/^ {4}(.+) ([0-9a-f]{32})$/gm)].map(([, title = '', runId = '']) => ({
    title,
    runId,
  }));
}

beforeAll(async () => {
  database = await createTestDatabase();
  const settings = {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: String(await findFreePort()),
    OBSERVE_PORT: String(await findFreePort()),
    RUN_SETTLE_MS: '500',
    PASS_INTERVAL_MS: '200',
  };
  server = await startServer(settings);
  await fill(settings);
  const headers = { authorization: `Bearer ${server.firstKeys?.workspace}` };
  const answer = await fetch(`${server.baseUrl}/platform/v1/incidents?limit=100`, { headers });
  incidents = ((await answer.json()) as { incidents: Incident[] }).incidents;
}, FILLED_WITHIN_MS);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

test('the planted attacks are among the first ten', () => {
  expect(attacks.length).toBeGreaterThan(5);
  const first = incidents.slice(0, 10);
  const session = first.find(({ session_id: id }) => id === 'support-session-7');
  expect(session).toMatchObject({ runs: 5, repeats: 1 });
  for (const { title, runId } of attacks) {
    if (title === 'session that asks again') continue;
    expect(
      first.map(({ run_id: id }) => id),
      title,
    ).toContain(runId);
  }
  expect(first.filter(({ agent }) => agent === 'migration-agent')).toMatchObject([
    { chain: expect.arrayContaining([expect.objectContaining({ role: 'injection' })]) },
  ]);
});

test('the runs that read one document are one line, below the attacks', () => {
  const articles = incidents.filter(({ agent }) => agent === 'research-agent');
  expect(articles).toMatchObject([{ repeats: 24, runs: 24 }]);
  const places = attacks
    .filter(({ title }) => title !== 'session that asks again')
    .map(({ runId }) => incidents.findIndex(({ run_id: id }) => id === runId));
  const [article] = articles;
  expect(article === undefined ? -1 : incidents.indexOf(article)).toBeGreaterThan(
    Math.max(...places),
  );
  for (const one of incidents.filter(({ agent }) => agent === 'test-writer')) {
    expect(incidents.indexOf(one)).toBeGreaterThan(Math.max(...places));
  }
});

test('the command shows the chain and the reasons of the rank', async () => {
  const shown = await runCommand(['incidents', 'list', '--workspace', 'default', '--limit', '2'], {
    DATABASE_URL: database.url,
  });
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toMatch(/ {4}step \d+ .+\n {2}→ step \d+ /);
  expect(shown.stdout).toContain('followed by an act that fits it');
  expect(shown.stdout).toContain('More: sluice incidents list --cursor ');
});

describe.skipIf(chromiumPath === null)('in a browser', () => {
  test('the worst run is two clicks from the start page, and shows what was before and after', async () => {
    const eyes = openEyes(database.url);
    const { id } = await findWorkspace(eyes, 'default');
    const { token } = await addPerson(eyes, id, 'member');
    await eyes.end();
    const browser = await openBrowser();
    const url = server.baseUrl;
    await browser.context.addCookies([{ name: 'sluice_session', value: token, url }]);
    const page = await browser.context.newPage();
    await page.goto(`${url}/app`);
    await page.getByRole('navigation').getByRole('link', { name: 'Findings', exact: true }).click();
    await page.getByRole('heading', { name: 'Incidents' }).waitFor();
    const row = page.getByRole('table', { name: 'Incidents' }).locator('tbody tr').first();
    expect(await row.innerText()).toContain('was followed by an act that fits it');
    await row.locator('.title a').click();
    await page.locator('#found').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/app/runs/${incidents[0]?.run_id}`);
    // The tree of all steps is beside the step: nothing more to click.
    expect(await page.getByText('fetch_page').first().isVisible()).toBe(true);
    await browser.close();
  });

  test('the timeline of a run with findings begins above the fold at 1200 × 750', async () => {
    const eyes = openEyes(database.url);
    const { id } = await findWorkspace(eyes, 'default');
    const { token } = await addPerson(eyes, id, 'member');
    await eyes.end();
    const browser = await openBrowser();
    const url = server.baseUrl;
    await browser.context.addCookies([{ name: 'sluice_session', value: token, url }]);
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 1200, height: 750 });
    const first = incidents.slice(0, 10);
    expect(first).toHaveLength(10);
    for (const { run_id: runId } of first) {
      await page.goto(`${url}/app/runs/${runId}`);
      const box = await page.locator('.rows > li').first().boundingBox();
      expect((box?.y ?? 750) + (box?.height ?? 0), runId).toBeLessThan(750);
    }
    await browser.close();
  });
});
