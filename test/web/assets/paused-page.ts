/**
 * A page with a clock that only a test moves. The page counts what its script has fetched, so
 * that a test waits for an answer and not for a time.
 */
import type { Page } from 'playwright-core';

/** The time at which the clock stops. */
const STOPPED_AT = new Date('2026-11-21T12:00:00Z');
const SECOND = 1000;

/**
 * Counts requests when they begin, and when the script has done all that their answer starts: a message
 * arrives after the promises that were ready before it. `hide` hides the page and shows it again.
 */
const COUNTING = `
  window.fetches = { begun: 0, done: 0 };
  const afterPromises = () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { window.fetches.done += 1; };
    port2.postMessage(null);
  };
  const send = window.fetch;
  window.fetch = async (...given) => {
    window.fetches.begun += 1;
    try {
      const response = await send(...given);
      const read = response.text.bind(response);
      response.text = async () => {
        const text = await read();
        afterPromises();
        return text;
      };
      if (!response.ok) afterPromises();
      return response;
    } catch (error) {
      afterPromises();
      throw error;
    }
  };
  let isHidden = false;
  Object.defineProperty(document, 'hidden', { get: () => isHidden });
  window.hide = (hidden) => {
    isHidden = hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  };
`;

export interface PausedPage {
  /** Moves the clock; timers that are due fire. */
  readonly pass: (ms: number) => Promise<void>;
  readonly setHidden: (hidden: boolean) => Promise<void>;
  /** the requests that the page's script has begun */
  readonly begun: () => Promise<number>;
  /** Resolves once the script has done with the answers of so many requests. */
  readonly done: (count: number) => Promise<void>;
}

/** Stops the clock of the pages that are opened from now on. */
export async function pauseClock(page: Page): Promise<PausedPage> {
  await page.clock.install({ time: new Date(STOPPED_AT.getTime() - SECOND) });
  await page.clock.pauseAt(STOPPED_AT);
  await page.addInitScript(COUNTING);
  return {
    pass: (ms) => page.clock.runFor(ms),
    setHidden: (hidden) => page.evaluate(`window.hide(${hidden})`),
    begun: () => page.evaluate<number>('window.fetches.begun'),
    done: async (count) => {
      await page.waitForFunction(`window.fetches.done >= ${count}`);
    },
  };
}
