/**
 * A real browser: the machine's Chromium, driven by playwright-core. Where there is none the tests
 * that need one say so and are left out, except in CI (`REQUIRE_BROWSER`).
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

const PLACES = [
  process.env.CHROMIUM_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Where the browser is; null when there is none. */
export const chromiumPath: string | null =
  PLACES.find((place) => place !== '' && existsSync(place)) ?? null;

if (chromiumPath === null) {
  const text =
    'No Chromium here: the browser tests are left out. Install it, or set CHROMIUM_PATH.';
  if (process.env.REQUIRE_BROWSER === '1') throw new Error(text);
  process.stderr.write(`\n!!! ${text}\n\n`);
}

/** No sandbox for root, no graphics card, and no connection of the browser's own. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface TestBrowser {
  readonly context: BrowserContext;
  readonly close: () => Promise<void>;
}

/** Opens a browser with a profile of its own. */
export async function openBrowser(options: BrowserContextOptions = {}): Promise<TestBrowser> {
  if (chromiumPath === null) throw new Error('there is no browser');
  const profile = await mkdtemp(join(tmpdir(), 'sluice-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath,
    headless: true,
    args: ARGUMENTS,
    ...options,
  });
  return {
    context,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
