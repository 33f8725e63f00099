/** A real browser: the machine's Chromium, driven by playwright-core. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

import { chromiumPath } from './programs.ts';

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
