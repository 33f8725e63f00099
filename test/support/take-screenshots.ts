/**
 * Takes the pictures of the README: a server with the demo's runs in it, a real browser, the pages
 * people see first. `npm run screenshots` writes them to `docs/images/`.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { CONVERSATIONS } from '../../demo/conversations.ts';
import { sendRun } from '../../demo/send-run.ts';
import { openBrowser } from './chromium.ts';
import { startServer } from './server.ts';
import { waitFor } from './wait-for.ts';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
/** How often each of the demo's conversations is sent, so that there is something to see. */
const TIMES = 5;
const FOUND_WITHIN_MS = 120_000;

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

async function take(page: Page, name: string): Promise<void> {
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path, clip: { x: 0, y: 0, width: 1200, height: 760 } });
  process.stdout.write(`${path}\n`);
}

async function walk(page: Page, baseUrl: string): Promise<void> {
  await page.goto(`${baseUrl}/app`);
  await take(page, 'overview');
  await page.goto(`${baseUrl}/app/findings`);
  await take(page, 'findings');
  await page.getByRole('link', { name: /\S/ }).locator('visible=true').nth(0).waitFor();
  await page.locator('table[aria-label=Findings] tbody a[href^="/app/findings/"]').first().click();
  await page.locator('pre.excerpt').waitFor();
  await page.locator('dl.facts a[href^="/app/runs/"]').click();
  await page.locator('ol.steps').waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  await take(page, 'run-dark');
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
  await mkdir(FOLDER, { recursive: true });
  const browser = await openBrowser({ viewport: { width: 1200, height: 900 } });
  try {
    const page = await browser.context.newPage();
    await page.goto(`${baseUrl}/app`);
    await page.getByLabel('E-mail address').fill(firstKeys.owner.email);
    await page.getByLabel('Password').fill(firstKeys.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await walk(page, baseUrl);
  } finally {
    await browser.close();
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
