/** The list of findings while it is open: new lines, hidden pages, and servers in trouble. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { NO_NAMES } from '../../../src/web/app/findings/finding-filters.ts';
import { findingRows, findingsPage } from '../../../src/web/app/findings.ts';
import { chromiumPath } from '../../support/programs.ts';
import { hex16 } from '../../support/rows.ts';
import { finding, NOW_MS, viewer } from '../app/fixtures.ts';
import { type PausedPage, pauseClock } from './paused-page.ts';
import { type Answer, LOOK, openScriptPage, type ScriptPage, scriptNumber } from './script-page.ts';

const REFRESH_MS = scriptNumber('REFRESH_MS');
const REFRESH_MS_MAX = scriptNumber('REFRESH_MS_MAX');
const ROWS_MAX = scriptNumber('ROWS_MAX');

const AWAY = 'The server does not answer: this list may be old.';
const SIGNED_OUT = 'You are signed out. Reload the page to sign in again.';
const TOO_MANY = 'There are more new findings than fit here. Reload the page to see them all.';
const ROWS = '/app/findings/rows';

const dataOf = (numbers: readonly number[], query: string) => ({
  findings: numbers.map((number) => finding({ id: hex16(number) })),
  groups: null,
  query,
  titleOf: (id: string) => `title of ${id}`,
  nowMs: NOW_MS,
});
const pageOf = (numbers: readonly number[], query: string): string =>
  findingsPage(LOOK, viewer(), {
    ...dataOf(numbers, query),
    endedEarly: false,
    searchedTo: null,
    total: { count: numbers.length, isExact: true, within: null },
    hidden: null,
    names: NO_NAMES,
    views: [],
    address: '',
    next: null,
  }).text;
const rowsOf = (numbers: readonly number[]): string => findingRows({ ...dataOf(numbers, '') }).text;

let tab: ScriptPage;
let clock: PausedPage;
let answer: () => Answer | Promise<Answer>;

/** Opens a list; later requests get `answer`. */
async function openList(numbers: readonly number[], query = ''): Promise<void> {
  answer = () => ({ text: '' });
  await tab.open(`/app/findings?${query}`, ({ path }) =>
    path.startsWith(ROWS) ? answer() : { text: pageOf(numbers, query) },
  );
}
/** Lets the next request be sent, and waits for what its answer changes. */
async function refreshed(count: number, waitMs = REFRESH_MS): Promise<void> {
  await clock.pass(waitMs);
  await clock.done(count);
}
const requested = () => tab.requests.slice(1).map(({ path }) => path);
const shown = async () => {
  const keys = await tab.page.evaluate<string[]>(
    "[...document.querySelectorAll('table[data-live] tbody tr')].map((row) => row.dataset.key)",
  );
  return keys.map((key) => Number.parseInt(key, 16));
};
const status = () => tab.page.locator('[data-live-status]').textContent();

describe.skipIf(chromiumPath === null)('a list that is open', () => {
  beforeAll(async () => {
    tab = await openScriptPage();
    clock = await pauseClock(tab.page);
  });
  afterAll(() => tab.close());

  test('asks at an interval for what is newer than its newest line, with its filter', async () => {
    await openList([3, 1], 'severity=critical');
    await clock.pass(REFRESH_MS - 1);
    expect(await clock.begun()).toBe(0);
    await refreshed(1, 1);
    answer = () => ({ text: rowsOf([4, 3, 1]) });
    await refreshed(2);
    await refreshed(3);
    const path = (newest: number) => `${ROWS}?severity=critical&newest=${hex16(newest)}`;
    expect(requested()).toEqual([path(3), path(3), path(4)]);
  });

  test('inserts new lines in their order, and says how many', async () => {
    await openList([5, 3, 1]);
    answer = () => ({ text: rowsOf([7, 6, 5, 4, 3]) });
    await refreshed(1);
    expect(await shown()).toEqual([7, 6, 5, 4, 3, 1]);
    expect(await status()).toBe('3 new findings.');
    expect(await tab.page.locator('tr.fresh').count()).toBe(3);
    // Nothing new: the words stay.
    answer = () => ({ text: rowsOf([7, 6]) });
    await refreshed(2);
    expect(await status()).toBe('3 new findings.');
    answer = () => ({ text: rowsOf([8, 7]) });
    await refreshed(3);
    expect(await shown()).toEqual([8, 7, 6, 5, 4, 3, 1]);
    expect(await status()).toBe('1 new finding.');
  });

  test('leaves the lines that are there alone, with their focus and selection', async () => {
    await openList([2, 1]);
    await tab.page.locator('tbody input').first().check();
    await tab.page.locator('tbody [data-open]').nth(1).focus();
    answer = () => ({ text: rowsOf([3, 2, 1]) });
    await refreshed(1);
    expect(await shown()).toEqual([3, 2, 1]);
    const boxes = tab.page.locator('tbody input');
    expect(await boxes.nth(0).isChecked()).toBe(false);
    expect(await boxes.nth(1).isChecked()).toBe(true);
    const key = "document.activeElement.closest('tr').dataset.key";
    expect(await tab.page.evaluate(key)).toBe(hex16(1));
  });

  test('that is empty shows its first finding instead of saying so', async () => {
    await openList([]);
    expect(await tab.page.locator('[data-live-empty]').isVisible()).toBe(true);
    answer = () => ({ text: rowsOf([1]) });
    await refreshed(1);
    expect(requested()).toEqual([ROWS]);
    expect(await tab.page.locator('[data-live-empty]').count()).toBe(0);
    expect(await tab.page.locator('tbody tr').isVisible()).toBe(true);
    expect(await status()).toBe('1 new finding.');
  });

  test('asks for nothing while it is hidden, and at once when it is seen again', async () => {
    await openList([1]);
    await clock.pass(REFRESH_MS - 1);
    await clock.setHidden(true);
    await clock.pass(REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(0);
    await clock.setHidden(false);
    await refreshed(1, 1);
    // Hidden while an answer is on its way: no further request follows it.
    await clock.pass(REFRESH_MS - 1);
    let give = (_given: Answer): void => {};
    answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    await clock.pass(1);
    await expect.poll(() => requested().length).toBe(2);
    await clock.setHidden(true);
    give({ text: rowsOf([2, 1]) });
    await clock.done(2);
    expect(await shown()).toEqual([2, 1]);
    await clock.pass(REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(2);
  });

  test('has one request at a time, also when it is hidden and seen meanwhile', async () => {
    await openList([1]);
    let give = (_given: Answer): void => {};
    answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    await clock.pass(REFRESH_MS);
    await expect.poll(() => requested().length).toBe(1);
    await clock.setHidden(true);
    await clock.setHidden(false);
    await clock.pass(REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(1);
    answer = () => ({ text: '' });
    give({ text: '' });
    await clock.done(1);
    await refreshed(2);
    expect(await clock.begun()).toBe(2);
  });

  test('asks a server in trouble less often, down to a bound, and says so', async () => {
    await openList([1]);
    answer = () => ({ status: 503, text: '' });
    await refreshed(1);
    expect(await status()).toBe(AWAY);
    let count = 1;
    const waits = [2, 4, 8].map((times) => times * REFRESH_MS);
    for (const waitMs of [...waits, REFRESH_MS_MAX, REFRESH_MS_MAX]) {
      await clock.pass(waitMs - 1);
      expect(await clock.begun()).toBe(count);
      count += 1;
      await refreshed(count, 1);
    }
    answer = () => ({ text: '' });
    await refreshed(count + 1, REFRESH_MS_MAX);
    expect(await status()).toBe('');
    await refreshed(count + 2);
  });

  test.each([
    ['30', 30_000],
    ['1', 2 * REFRESH_MS],
    ['900', REFRESH_MS_MAX],
  ])('waits for the time that a server names, within bounds: %s s', async (seconds, waitMs) => {
    await openList([1]);
    answer = () => ({ status: 429, headers: { 'retry-after': seconds }, text: '' });
    await refreshed(1);
    await clock.pass(waitMs - 1);
    expect(await clock.begun()).toBe(1);
    await refreshed(2, 1);
  });

  test.each([
    ['a redirect', { status: 303, headers: { location: '/app/sign-in' }, text: '' }],
    ['401', { status: 401, text: '' }],
    ['403', { status: 403, text: '' }],
  ])('ends when its reader is signed out: %s', async (_name, signedOut) => {
    await openList([1]);
    answer = () => signedOut;
    await refreshed(1);
    expect(await status()).toBe(SIGNED_OUT);
    await clock.setHidden(true);
    await clock.setHidden(false);
    await clock.pass(2 * REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(1);
  });

  test('ends when new findings may be missing: no line of an answer is known', async () => {
    await openList([1]);
    answer = () => ({ text: rowsOf([9, 8]) });
    await refreshed(1);
    expect(await shown()).toEqual([9, 8, 1]);
    expect(await status()).toBe(TOO_MANY);
    await clock.pass(2 * REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(1);
  });

  test('ends when it is long', async () => {
    const numbers = Array.from({ length: ROWS_MAX - 2 }, (_, index) => ROWS_MAX - index);
    await openList(numbers);
    answer = () => ({ text: rowsOf([ROWS_MAX + 1, ROWS_MAX]) });
    await refreshed(1);
    expect(await status()).toBe('1 new finding.');
    answer = () => ({ text: rowsOf([ROWS_MAX + 2, ROWS_MAX + 1]) });
    await refreshed(2);
    expect([(await shown()).length, await status()]).toEqual([ROWS_MAX, TOO_MANY]);
    await clock.pass(2 * REFRESH_MS_MAX);
    expect(await clock.begun()).toBe(2);
  });
});
