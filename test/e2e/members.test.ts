/** Members and invitations of a running server: from the link to the first sign-in, and back out. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { lockLedger } from '../../src/db/people/audit.ts';
import { listInvitations } from '../../src/db/people/invitations.ts';
import { addMember, listMembers } from '../../src/db/people/memberships.ts';
import { findSession } from '../../src/db/people/sessions.ts';
import { addPerson } from '../support/people.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, type Fields, secretOf } from './browser.ts';
import { type Answer, randomId } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

interface Invited {
  readonly token: string;
  readonly link: string;
}

const CREW = `crew-${randomId(8)}`;
const HOME = `home-${randomId(8)}`;
const PASSWORD = 'a long enough password';

let gateway: SharedGateway;
let workspaceId: number;
let owner: Browser;
beforeAll(async () => {
  gateway = await openSharedGateway();
  workspaceId = (await gateway.addWorkspace(CREW)).id;
  const { token } = await addPerson(gateway.database, workspaceId, 'owner');
  owner = new Browser(gateway.server.baseUrl, token);
});
afterAll(() => gateway.close());

const visitor = (token: string | null = null) => new Browser(gateway.server.baseUrl, token);

async function invite(email: string, role = 'member'): Promise<Invited> {
  const link = secretOf(await owner.submit('/app/invitations', { email, role }));
  return { link, token: link.split('/').at(-1) ?? '' };
}

const accept = (browser: Browser, token: string, fields: Fields = {}) =>
  browser.submit(`/app/invitation/${token}`, fields);

/** The id of the user whose session a browser has. */
async function userOf({ token }: Browser): Promise<number | undefined> {
  return (await findSession(gateway.database, token ?? ''))?.userId;
}

/** The open invitation of an address. */
async function invitationOf(email: string) {
  const invitations = await listInvitations(gateway.database, workspaceId);
  return invitations.find((one) => one.email === email);
}

test('somebody new follows the link, chooses a password, and is in', async () => {
  const { token, link } = await invite('new@crew.test', 'admin');
  expect(link).toMatch(new RegExp(`/app/invitation/${token}$`));
  const list = await owner.get('/app/members');
  expect(list.text).toContain('new@crew.test');
  expect(list.text).not.toContain(token);
  const browser = visitor();
  const fields = { display_name: 'New', password: PASSWORD };
  const answer = await accept(browser, token, fields);
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/app']);
  expect(await browser.account()).toMatchObject({ role: 'admin', workspace: CREW });
  expect((await visitor().signIn('new@crew.test', PASSWORD)).status).toBe(303);
  expect((await accept(visitor(), token, fields)).status).toBe(404);
  expect(await invitationOf('new@crew.test')).toBeUndefined();
});

test('somebody with an account accepts signed in, and can turn to either workspace', async () => {
  const { id } = await gateway.addWorkspace(HOME);
  const person = await addPerson(gateway.database, id, 'owner');
  const { token } = await invite(person.email);
  expect((await accept(visitor(), token)).status).toBe(401);
  expect((await accept(owner, token)).status).toBe(409);
  const browser = visitor(person.token);
  expect((await accept(browser, token)).status).toBe(303);
  expect(await browser.account()).toMatchObject({
    role: 'member',
    workspace: CREW,
    workspaces: [HOME, CREW],
  });
  expect((await browser.submit('/app/workspace', { workspace: HOME })).status).toBe(303);
  expect(await browser.account()).toMatchObject({ role: 'owner', workspace: HOME });
  expect((await browser.submit('/app/workspace', { workspace: 'default' })).status).toBe(404);
});

describe('whether an address has an account elsewhere', () => {
  /** What an answer says, without what differs for any two addresses. */
  const said = ({ status, headers, text }: Answer, email: string): unknown => ({
    status,
    headers: [...headers.keys()].sort(),
    text: text
      .replaceAll(email, 'ADDRESS')
      .replaceAll(/(\/|%2F)[\w-]{43}\b/g, 'TOKEN')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'),
  });

  /**
   * Everything that an admin and the holder of the link are answered, from inviting to removing.
   */
  async function answersAbout(email: string): Promise<unknown[]> {
    const invited = await owner.submit('/app/invitations', { email, role: 'member' });
    const path = new URL(secretOf(invited)).pathname;
    const page = await visitor().get(path);
    const asAdmin = await owner.get(path);
    const refused = await owner.submit(path);
    const holder = visitor();
    const accepted = await holder.submit(path, { display_name: 'Somebody', password: PASSWORD });
    const session = await holder.account();
    const signedIn = await visitor().signIn(email, PASSWORD);
    const mistyped = await visitor().signIn(email, 'not the password');
    const again = await owner.submit('/app/invitations', { email, role: 'member' });
    const members = await listMembers(gateway.database, workspaceId);
    const member = members.find((one) => one.email === email);
    const listed = { displayName: member?.displayName, role: member?.role };
    const removed = await owner.submit(`/app/members/${member?.userId}/remove`);
    const after = await holder.get('/app/settings');
    const answers = [invited, page, asAdmin, refused, accepted, signedIn, mistyped, again];
    const shown = { ...session, email: 'ADDRESS' };
    return [...[...answers, removed, after].map((answer) => said(answer, email)), shown, listed];
  }

  test('is not disclosed to an inviting admin or a holder of the link', async () => {
    const elsewhere = (await gateway.addWorkspace('elsewhere')).id;
    const known = 'known@other.test';
    const person = await addPerson(gateway.database, elsewhere, 'owner', {
      email: known,
      password: 'another password of theirs',
    });
    const about = await answersAbout(known);
    expect(about).toEqual(await answersAbout('unknown@other.test'));
    expect(about).toContainEqual(expect.objectContaining({ status: 303 }));
    const own = await visitor(person.token).account();
    expect(own).toMatchObject({ role: 'owner', workspace: 'elsewhere', workspaces: [] });
    const theirs = visitor();
    await theirs.signIn(known, 'another password of theirs');
    expect(await userOf(theirs)).toBe(person.id);
  });
});

test('an account of a link changes its own password, not that of the same address elsewhere', async () => {
  const elsewhere = (await gateway.addWorkspace('same-password')).id;
  const email = 'same@other.test';
  const person = await addPerson(gateway.database, elsewhere, 'owner', {
    email,
    password: PASSWORD,
  });
  const browser = visitor();
  const { token } = await invite(email);
  await accept(browser, token, { display_name: 'Somebody', password: PASSWORD });
  const change = { current_password: PASSWORD, new_password: 'quite another password' };
  expect((await browser.submit('/app/password', change)).status).toBe(303);
  expect(await visitor(person.token).isSignedIn()).toBe(true);
  const other = visitor();
  await other.signIn(email, PASSWORD);
  expect(await userOf(other)).toBe(person.id);
});

test('an invitation taken back is none', async () => {
  const { token } = await invite('late@crew.test');
  const path = `/app/invitations/${(await invitationOf('late@crew.test'))?.id}/revoke`;
  expect((await owner.submit(path)).status).toBe(303);
  expect((await owner.submit(path)).status).toBe(404);
  const fields = { display_name: 'Late', password: PASSWORD };
  expect((await accept(visitor(), token, fields)).status).toBe(404);
});

test('a role changed or taken away counts from the next request on', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member');
  const browser = visitor(person.token);
  const path = `/app/members/${person.id}`;
  expect((await browser.get('/app/audit')).status).toBe(403);
  expect((await owner.submit(path, { role: 'admin' })).status).toBe(303);
  expect((await browser.get('/app/audit')).status).toBe(200);
  const members = await listMembers(gateway.database, workspaceId);
  expect(members.find(({ userId }) => userId === person.id)).toMatchObject({
    email: person.email,
    role: 'admin',
  });
  expect((await owner.submit(`${path}/remove`)).status).toBe(303);
  for (const gone of ['/app/members', '/app/audit', '/app/keys', '/app/runs']) {
    expect((await browser.get(gone)).status, gone).toBe(403);
  }
  expect(await findSession(gateway.database, person.token)).toMatchObject({ workspace: null });
  expect((await owner.submit(`${path}/remove`)).status).toBe(404);
});

test('a session of no workspace any more can turn to another, and change its password', async () => {
  const { id } = await gateway.addWorkspace('left');
  const person = await addPerson(gateway.database, id, 'member', { password: PASSWORD });
  const home = await gateway.addWorkspace('kept');
  await addMember(gateway.database, home.id, person.id, 'member');
  const browser = visitor(person.token);
  const remove = 'DELETE FROM memberships WHERE user_id = $1 AND workspace_id = $2';
  await gateway.database.query(remove, [person.id, id]);
  expect((await browser.get('/app')).status).toBe(403);
  const change = { current_password: PASSWORD, new_password: 'quite another password' };
  expect((await browser.submit('/app/password', change)).status).toBe(303);
  expect((await browser.submit('/app/workspace', { workspace: 'kept' })).status).toBe(303);
  expect(await browser.account()).toMatchObject({ workspace: 'kept' });
});

test('a session that ends while its write waits for its turn changes nothing', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'admin');
  let waiting: Promise<Answer> = Promise.reject(new Error('nothing was sent'));
  waiting.catch(() => undefined);
  await inTransaction(gateway.database, async (connection) => {
    await lockLedger(connection, workspaceId);
    waiting = visitor(person.token).submit('/app/settings', { name: 'Too late' });
    await waitFor(
      async () => {
        const { rows } = await gateway.database.query(
          `SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event = 'advisory'`,
        );
        return rows.length === 1;
      },
      { withinMs: 60_000, what: 'the write to wait for the ledger' },
    );
    await gateway.database.query('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [
      person.id,
    ]);
  });
  expect((await waiting).headers.get('location')).toBe('/app/sign-in?next=%2Fapp');
  expect((await owner.get('/app/settings')).text).not.toContain('Too late');
});

test('an admin makes no owner, and nobody takes the last owner away', async () => {
  const { token } = await addPerson(gateway.database, workspaceId, 'admin');
  const admin = visitor(token);
  const members = await listMembers(gateway.database, workspaceId);
  const theOwner = members.find(({ role }) => role === 'owner')?.userId;
  const path = `/app/members/${theOwner}`;
  const attempts = [
    await admin.submit('/app/invitations', { email: 'o@crew.test', role: 'owner' }),
    await admin.submit(path, { role: 'member' }),
    await admin.submit(`${path}/remove`),
  ];
  for (const answer of attempts) expect(answer.status, answer.text).toBe(403);
  expect((await owner.submit(path, { role: 'member' })).status).toBe(409);
  expect((await owner.submit(`${path}/remove`)).status).toBe(409);
});

test.each([
  [{ email: 'no address', role: 'member' }],
  [{ email: 'a@b.test', role: 'king' }],
  [{ email: 'a@b\u0000.test', role: 'member' }],
  [{ email: 'a@b.test\r\nBcc: x@y.test', role: 'member' }],
  [{ email: `${'a'.repeat(250)}@b.test`, role: 'member' }],
  [{ role: 'member' }],
])('%o invites nobody', async (fields) => {
  const answer = await owner.submit('/app/invitations', fields);
  expect(answer.status).toBe(400);
});
