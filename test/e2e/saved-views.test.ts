/**
 * Saved views of the findings list, as two members of a workspace use them at the same time, each in a
 * browser: saved, applied, renamed, chosen as the default, and deleted.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { openBrowser, type TestBrowser } from '../support/chromium.ts';
import { addPerson } from '../support/people.ts';
import { chromiumPath } from '../support/programs.ts';
import { randomId } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const COOKIE = 'sluice_session';
const LIST = '/app/findings';

interface Member {
  readonly browser: TestBrowser;
  readonly page: Page;
}

let gateway: SharedGateway;
let ann: Member;
let bob: Member;

/** A browser of a member who is signed in to a workspace. */
async function signedIn(token: string): Promise<Member> {
  const browser = await openBrowser();
  const url = gateway.server.baseUrl;
  await browser.context.addCookies([{ name: COOKIE, value: token, url }]);
  return { browser, page: await browser.context.newPage() };
}

const open = ({ page }: Member, path = LIST) => page.goto(`${gateway.server.baseUrl}${path}`);
const searchOf = ({ page }: Member): string => new URL(page.url()).search;
/** The filter that the list begins with. */
async function beginning(member: Member): Promise<string> {
  await open(member);
  return searchOf(member);
}
const saved = ({ page }: Member) => page.getByRole('navigation', { name: 'Saved' });
const names = (member: Member) => saved(member).locator('a').allInnerTexts();

interface View {
  readonly query: string;
  readonly isShared?: boolean;
  readonly isDefault?: boolean;
}

/** Saves the list of a filter under a name. */
async function save(member: Member, name: string, view: View): Promise<void> {
  const { page } = member;
  await open(member, `${LIST}?${view.query}`);
  await page.locator('details.saved-views > summary').click();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  if (view.isShared) await page.getByLabel('Share with the workspace').check();
  if (view.isDefault) await page.getByLabel('Begin with this view').check();
  await page.getByRole('button', { name: 'Save view' }).click();
  await saved(member).locator('[aria-current]', { hasText: name }).waitFor();
}

/** Shows the table of views, without leaving the list of all findings. */
async function openTable(member: Member): Promise<void> {
  await open(member, `${LIST}?state=all`);
  await member.page.locator('details.saved-views > summary').click();
}
const rowOf = ({ page }: Member, name: string) =>
  page.getByRole('table', { name: 'Saved views' }).getByRole('row').filter({ hasText: name });
/** Presses a button of a view's row; the page is then loaded again. */
async function press(member: Member, name: string, button: string): Promise<void> {
  const loaded = member.page.waitForEvent('load');
  await rowOf(member, name).getByRole('button', { name: button }).click();
  await loaded;
}

describe.skipIf(chromiumPath === null)('a saved view', () => {
  beforeAll(async () => {
    gateway = await openSharedGateway();
  });
  afterAll(() => gateway.close());

  // Each test has two members who have no view.
  beforeEach(async () => {
    const { id } = await gateway.addWorkspace(`views-${randomId(8)}`);
    const [one, other] = [
      await addPerson(gateway.database, id, 'member'),
      await addPerson(gateway.database, id, 'member'),
    ];
    ann = await signedIn(one.token);
    bob = await signedIn(other.token);
    return async () => {
      await ann.browser.close();
      await bob.browser.close();
    };
  });

  test('has the filter, grouping and order of its list, for its member alone', async () => {
    await save(ann, 'Worst', { query: 'severity=critical&group_by=run&sort=oldest' });
    await open(ann);
    expect(searchOf(ann)).toBe('');
    await saved(ann).getByRole('link', { name: 'Worst' }).click();
    await ann.page.waitForURL('**severity=critical**');
    const query = new URLSearchParams(searchOf(ann));
    expect(Object.fromEntries(query)).toEqual({
      severity: 'critical',
      group_by: 'run',
      sort: 'oldest',
    });
    await open(bob);
    expect(await saved(bob).count()).toBe(0);
  });

  test('gets another filter and the spelling of its name when it is saved again', async () => {
    await save(ann, 'worst', { query: 'severity=critical' });
    await save(ann, 'WORST', { query: 'severity=high' });
    expect(await names(ann)).toEqual(['WORST']);
    await open(ann);
    await saved(ann).getByRole('link', { name: 'WORST' }).click();
    await ann.page.waitForURL('**severity=high**');
  });

  test('that is shared is the default of each member who chooses it, and of no other', async () => {
    await save(ann, 'Team', { query: 'severity=high', isShared: true, isDefault: true });
    await save(bob, 'Mine', { query: 'severity=low', isDefault: true });
    expect([await beginning(ann), await beginning(bob)]).toEqual([
      '?severity=high',
      '?severity=low',
    ]);
    await openTable(bob);
    await press(bob, 'Team', 'Make default');
    expect([await beginning(ann), await beginning(bob)]).toEqual([
      '?severity=high',
      '?severity=high',
    ]);
    await openTable(bob);
    await press(bob, 'Team', 'Remove as default');
    expect([await beginning(ann), await beginning(bob)]).toEqual(['?severity=high', '']);
    // "Findings" of the navigation leads to the incidents, or to the default view.
    await open(ann, '/app/incidents');
    expect(new URL(ann.page.url()).pathname).toBe(LIST);
    await open(bob, '/app/incidents');
    expect(new URL(bob.page.url()).pathname).toBe('/app/incidents');
  });

  test('that was the default of an old page ends no default chosen since', async () => {
    await save(ann, 'Before', { query: 'severity=high', isDefault: true });
    await openTable(ann);
    const old = { ...ann, page: await ann.browser.context.newPage() };
    await save(old, 'Since', { query: 'severity=low', isDefault: true });
    await press(ann, 'Before', 'Remove as default');
    expect(await beginning(ann)).toBe('?severity=low');
  });

  test('is deleted by its member, for everybody whose default it was', async () => {
    await save(ann, 'Team', { query: 'severity=high', isShared: true, isDefault: true });
    await openTable(bob);
    expect(await rowOf(bob, 'Team').getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await press(bob, 'Team', 'Make default');
    expect(await beginning(bob)).toBe('?severity=high');
    await openTable(ann);
    await press(ann, 'Team', 'Delete');
    expect([await beginning(ann), await beginning(bob)]).toEqual(['', '']);
    expect([await saved(ann).count(), await saved(bob).count()]).toEqual([0, 0]);
  });
});
