/** Times in the viewer's time zone: on the other side of midnight, in halves and quarters of an hour, and later. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ago, moment, time } from '../../../src/web/app/format.ts';
import { appPage } from '../../../src/web/app/shell.ts';
import { html } from '../../../src/web/html.ts';
import { chromiumPath } from '../../support/programs.ts';
import { viewer } from '../app/fixtures.ts';
import { LOOK, openScriptPage, type ScriptPage } from './script-page.ts';

let tab: ScriptPage;

/** Shows a page to somebody in a time zone. */
async function openIn(timezoneId: string, main: ReturnType<typeof html>): Promise<void> {
  const devtools = await tab.page.context().newCDPSession(tab.page);
  await devtools.send('Emulation.setTimezoneOverride', { timezoneId });
  const text = appPage(LOOK, viewer(), { title: 'Times', current: '/app', main }).text;
  await tab.open('/app', text);
  await devtools.detach();
}
const texts = (selector: string) => tab.page.locator(selector).allTextContents();
/** Browsers write a narrow space before AM. */
const plain = (text: string) => text.replaceAll(/\s/g, ' ');

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe.skipIf(chromiumPath === null)('times', () => {
  beforeAll(async () => {
    tab = await openScriptPage();
  });
  afterAll(() => tab.close());

  test.each([
    // The same day here and there: the time alone.
    ['Europe/Berlin', '2026-11-20T22:59:59Z', 'Nov 20, 2026, 11:59:59 PM GMT+1 (22:59 UTC)'],
    // One second later it is another day here.
    [
      'Europe/Berlin',
      '2026-11-20T23:00:00Z',
      'Nov 21, 2026, 12:00:00 AM GMT+1 (Nov 20, 23:00 UTC)',
    ],
    [
      'America/New_York',
      '2026-11-21T04:59:59Z',
      'Nov 20, 2026, 11:59:59 PM EST (Nov 21, 04:59 UTC)',
    ],
    ['America/New_York', '2026-11-21T05:00:00Z', 'Nov 21, 2026, 12:00:00 AM EST (05:00 UTC)'],
    // Another month, another year.
    [
      'Pacific/Kiritimati',
      '2026-12-31T10:00:00Z',
      'Jan 1, 2027, 12:00:00 AM GMT+14 (Dec 31, 10:00 UTC)',
    ],
    [
      'Pacific/Pago_Pago',
      '2026-03-01T00:30:00Z',
      'Feb 28, 2026, 01:30:00 PM GMT-11 (Mar 1, 00:30 UTC)',
    ],
    // Midnight is 00, not 24.
    ['Asia/Kolkata', '2026-11-21T00:00:00Z', 'Nov 21, 2026, 05:30:00 AM GMT+5:30 (00:00 UTC)'],
    [
      'Asia/Kathmandu',
      '2026-11-21T18:15:00Z',
      'Nov 22, 2026, 12:00:00 AM GMT+5:45 (Nov 21, 18:15 UTC)',
    ],
    // Summer time, by the date of the time itself.
    ['Europe/London', '2026-07-01T12:00:00Z', 'Jul 1, 2026, 01:00:00 PM GMT+1 (12:00 UTC)'],
    ['Europe/London', '2026-11-20T12:00:00Z', 'Nov 20, 2026, 12:00:00 PM GMT'],
    ['UTC', '2026-11-20T23:59:59.120Z', 'Nov 20, 2026, 11:59:59.120 PM UTC'],
  ])('in %s, %s is %s', async (zone, iso, text) => {
    await openIn(zone, html`<p>${moment(iso)}</p>`);
    const [shown = ''] = await texts('main time');
    expect(plain(shown)).toBe(text);
    const utc = `${iso.slice(0, 10)} ${iso.slice(11, -1)} UTC`;
    expect(await tab.page.locator('main time').getAttribute('title')).toBe(utc);
  });

  test('bars and their labels have the local hour, elements that are added later too', async () => {
    const at = '2026-11-20T23:15:00.000Z';
    const slot = html`<time datetime="${at}" data-slot>23:15</time>`;
    const bar = html`<svg><g data-at="${at}"><title>23:15: 7</title></g></svg>`;
    await openIn('Asia/Kathmandu', html`<div id="first">${slot}${bar}</div>`);
    expect((await texts('main time')).map(plain)).toEqual(['05:00 AM']);
    expect((await texts('main title')).map(plain)).toEqual(['05:00 AM · 23:15: 7']);
    expect(await tab.page.locator('main time').getAttribute('title')).toBe(
      '2026-11-20 23:15:00 UTC',
    );
    const later = JSON.stringify(html`<p>${slot}${bar}</p>`.text);
    await tab.page.evaluate(
      `document.getElementById('first').insertAdjacentHTML('beforeend', ${later})`,
    );
    expect((await texts('main time')).map(plain)).toEqual(['05:00 AM', '05:00 AM']);
    expect((await texts('main title')).map(plain)).toEqual(
      Array.from({ length: 2 }, () => '05:00 AM · 23:15: 7'),
    );
  });

  test('a time that is none is left as it was sent', async () => {
    await openIn(
      'Asia/Kathmandu',
      html`<time datetime="soon" data-local>soon</time><svg><g data-at="soon"><title>x</title></g></svg>`,
    );
    expect(await texts('main time')).toEqual(['soon']);
    expect(await texts('main title')).toEqual(['x']);
  });

  test('how long ago it was has the local time in its tooltip', async () => {
    const at = new Date('2026-11-20T23:00:00.000Z');
    await openIn('Europe/Berlin', html`<p>${time(at, at.getTime() + 5 * MINUTE)}</p>`);
    expect(await texts('main time')).toEqual(['5 minutes ago']);
    const title = await tab.page.locator('main time').getAttribute('title');
    expect(plain(title ?? '')).toBe('Nov 21, 2026, 12:00:00 AM GMT+1 · 2026-11-20 23:00:00 UTC');
  });

  test('how long ago it was is kept up to date, in the words of the server', async () => {
    const NOW = Date.UTC(2026, 10, 21, 12);
    const later = 2 * MINUTE;
    // Both sides of each unit, once the page has been open for two minutes.
    const ages = [0, MINUTE, HOUR, 2 * HOUR, DAY, 2 * DAY].flatMap((edge) =>
      [edge - SECOND, edge, edge + SECOND].map((age) => age - later).filter((age) => age >= 0),
    );
    const times = [0, ...ages].map((age) => new Date(NOW - age));
    await tab.page.clock.install();
    // The clock of elements is not among those that stand still.
    await tab.page.addInitScript(
      "Object.defineProperty(document, 'timeline', { value: { currentTime: 1000 } })",
    );
    await openIn('UTC', html`<p>${times.map((at) => time(at, NOW))}</p>`);
    expect(await texts('main time')).toEqual(times.map((at) => ago(at.getTime(), NOW)));
    await tab.page.evaluate(`document.timeline.currentTime += ${later}`);
    const expected = times.map((at) => ago(at.getTime(), NOW + later));
    expect(new Set(expected).size).toBeGreaterThan(6);
    await tab.page.clock.runFor(29_000);
    expect(await texts('main time')).not.toEqual(expected);
    await tab.page.clock.runFor(1_000);
    expect(await texts('main time')).toEqual(expected);
  });
});
