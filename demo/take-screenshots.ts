/**
 * Takes the pictures of the README: a server with the demo's runs in it, a real browser, the pages
 * people see first. `npm run screenshots` writes them to `docs/images/`.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { createDatabase } from '../src/db/database.ts';
import { startEmbedded } from '../src/db/embedded/connect.ts';
import { closeBrowser, openBrowser } from '../test/support/chromium.ts';
import { startServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { CONVERSATIONS } from './conversations.ts';
import { sendRun } from './send-run.ts';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
/** How often each of the demo's conversations is sent, so that there is something to see. */
const TIMES = 12;
const FOUND_WITHIN_MS = 120_000;
const SIZE = { width: 1200, height: 860 };

async function sendDemo(observeUrl: string, agentKey: string): Promise<void> {
  for (let turn = 0; turn < TIMES; turn += 1) {
    for (const conversation of CONVERSATIONS) {
      await sendRun(conversation, { observeUrl, agentKey });
    }
  }
}

/** Every conversation but the harmless one leaves two findings. */
const FINDINGS = TIMES * 2 * (CONVERSATIONS.length - 1);

async function countFindings(baseUrl: string, key: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/platform/v1/risk-findings?limit=500`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { findings } = (await answer.json()) as { findings: unknown[] };
  return findings.length;
}

/**
 * Moves the runs and their findings back, the newest not at all, so that there is a past to draw:
 * some of the last day, the others of two weeks.
 */
async function spread(dataDir: string): Promise<void> {
  const silent = { info: () => {}, warn: () => {} };
  const embedded = await startEmbedded({ dataDir, log: silent, connectionsMax: 100 });
  const database = createDatabase(embedded.url, 1, { connectionLost: () => {} });
  try {
    await database.query(
      `CREATE TEMPORARY TABLE back AS
         SELECT run_id, n * n * interval '16 minutes' AS by
           FROM (SELECT run_id, row_number() OVER (ORDER BY first_arrival_at DESC) - 1 AS n
                   FROM runs) AS numbered`,
    );
    await database.query(
      `UPDATE runs SET first_arrival_at = first_arrival_at - by,
              last_arrival_at = last_arrival_at - by, evaluated_at = evaluated_at - by
         FROM back WHERE back.run_id = runs.run_id`,
    );
    await database.query(
      `UPDATE findings SET created_at = created_at - by FROM back
        WHERE back.run_id = findings.run_id`,
    );
  } finally {
    await database.end();
    await embedded.stop();
  }
}

/**
 * The top of a page, light and dark.
 * @param name of the file; the dark one ends in `-dark`
 * @param height of the picture, in pixels
 */
async function take(page: Page, name: string, height: number): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    const path = join(FOLDER, `${name}${colorScheme === 'dark' ? '-dark' : ''}.png`);
    const clip = { x: 0, y: 0, width: SIZE.width, height };
    await page.screenshot({ path, fullPage: true, clip });
    process.stdout.write(`${path}\n`);
  }
}

/** The overview, the findings, one whose rule is a secret's, and that one's run. */
async function walk(page: Page, baseUrl: string): Promise<void> {
  await page.goto(`${baseUrl}/app`);
  await take(page, 'overview', 1060);
  await page.goto(`${baseUrl}/app/findings`);
  await take(page, 'findings', 860);
  await page.goto(`${baseUrl}/app/findings?rule_id=ATR-2026-00021`);
  await page.locator('table[aria-label=Findings] tbody a[href^="/app/findings/"]').first().click();
  await page.locator('pre.excerpt mark').waitFor();
  await take(page, 'finding', 860);
  await page.locator('dl.facts a[href^="/app/runs/"]').click();
  await page.locator('section.pane mark').first().waitFor();
  await take(page, 'run', 1240);
}

const dataDir = await mkdtemp(join(tmpdir(), 'sluice-pictures-'));
const server = await startServer({ DATA_DIR: dataDir });
try {
  const { baseUrl, observeUrl, firstKeys } = server;
  if (firstKeys === null) throw new Error('a new server, and no keys were printed');
  await sendDemo(observeUrl, firstKeys.agent);
  await waitFor(async () => (await countFindings(baseUrl, firstKeys.workspace)) === FINDINGS, {
    withinMs: FOUND_WITHIN_MS,
    what: `${FINDINGS} findings`,
  });
  await spread(dataDir);
  await mkdir(FOLDER, { recursive: true });
  const browser = await openBrowser({ viewport: SIZE });
  try {
    const page = await browser.context.newPage();
    await page.goto(`${baseUrl}/app`);
    await page.getByLabel('E-mail address').fill(firstKeys.owner.email);
    await page.getByLabel('Password').fill(firstKeys.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await walk(page, baseUrl);
  } finally {
    await closeBrowser();
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
