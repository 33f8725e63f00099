/**
 * Two tabs of one session: one shows the settings of a workspace, the other switches to another
 * workspace. Forms of the first tab then change neither workspace; the answer says why and offers
 * to switch back.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { addMember } from '../../src/db/people/memberships.ts';
import { addPerson, type Person } from '../support/people.ts';
import { Browser } from './browser.ts';
import { type Answer, randomId } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const FIRST = `first-${randomId(8)}`;
const SECOND = `second-${randomId(8)}`;

let gateway: SharedGateway;
let person: Person;
let tab: Browser;
beforeAll(async () => {
  gateway = await openSharedGateway();
  const { id: first } = await gateway.addWorkspace(FIRST);
  const { id: second } = await gateway.addWorkspace(SECOND);
  person = await addPerson(gateway.database, first, 'owner');
  await addMember(gateway.database, second, person.id, 'owner');
  tab = new Browser(gateway.server.baseUrl, person.token);
});
afterAll(() => gateway.close());

/** Submits the first form of a page that has these fields, as a browser does. */
async function press(page: string, fields: Record<string, string>): Promise<Answer> {
  const [field = ''] = Object.entries(fields).map(
    ([name, value]) => `name="${name}"[^>]*value="${value}"`,
  );
  const form = new RegExp(`<form[^>]*action="([^"]+)"[^>]*>(?:(?!</form>)[\\s\\S])*${field}`);
  const action = form.exec(page)?.[1] ?? '';
  expect(action).not.toBe('');
  return await tab.send('POST', action.replaceAll('&amp;', '&'), {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
}

async function redacting(): Promise<string[]> {
  const { rows } = await gateway.database.query<{ slug: string }>(
    'SELECT slug FROM workspaces WHERE redact_excerpts AND slug = ANY ($1)',
    [[FIRST, SECOND]],
  );
  return rows.map(({ slug }) => slug);
}

test('a form shown for one workspace never changes another', async () => {
  const shown = (await tab.get('/app/settings')).text;
  expect((await tab.submit('/app/workspace', { workspace: SECOND })).status).toBe(303);
  const late = await press(shown, { redact_excerpts: 'true' });
  expect(late.status).toBe(409);
  expect(late.text).toContain('Another workspace is open');
  expect(await redacting()).toEqual([]);

  // The page offers to switch back to the form's workspace.
  const back = await press(late.text, { workspace: FIRST });
  expect([back.status, back.headers.get('location')]).toEqual([303, '/app']);
  const done = await press((await tab.get('/app/settings')).text, { redact_excerpts: 'true' });
  expect(done.status).toBe(303);
  expect(await redacting()).toEqual([FIRST]);
});

test('nor does a write in JSON', async () => {
  await gateway.database.query("UPDATE workspaces SET plan = 'team' WHERE slug = ANY ($1)", [
    [FIRST, SECOND],
  ]);
  await tab.submit('/app/workspace', { workspace: SECOND });
  const late = await tab.put(`/app/api/atr/settings?workspace=${FIRST}`, { experimental: true });
  expect(late.status).toBe(409);
  expect(JSON.parse(late.text)).toMatchObject({
    type: '/docs/errors#other_workspace',
    reason: 'other_workspace',
    detail: expect.stringContaining('Nothing was changed'),
  });
  const { rows } = await gateway.database.query(
    'SELECT slug FROM workspaces WHERE experimental AND slug = ANY ($1)',
    [[FIRST, SECOND]],
  );
  expect(rows).toEqual([]);
});
