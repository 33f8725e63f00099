/** A real browser: the machine's Chromium, driven by playwright-core. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
} from 'playwright-core';

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
  /** Closes the context; the browser stays for the next one of this process. */
  readonly close: () => Promise<void>;
}

/** A start takes two seconds of CPU time: one for all files of a worker. */
let browser: Promise<Browser> | null = null;

async function launch(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('there is no browser');
  // Vitest ends a worker by SIGTERM.
  process.once('SIGTERM', () => void closeBrowser().finally(() => process.exit()));
  return await chromium.launch({
    executablePath: chromiumPath,
    headless: true,
    args: ARGUMENTS,
    handleSIGTERM: false,
  });
}

/** Closes the browser of this process, if there is one. */
export async function closeBrowser(): Promise<void> {
  const opened = browser;
  browser = null;
  await (await opened)?.close();
}

/** Opens a context in this process's browser, with separate cookies, storage and cache. */
export async function openBrowser(options: BrowserContextOptions = {}): Promise<TestBrowser> {
  if (browser === null || !(await browser).isConnected()) browser = launch();
  const context = await (await browser).newContext(options);
  return { context, close: () => context.close() };
}
