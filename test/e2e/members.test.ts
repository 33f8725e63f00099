/** Members and invitations of a running server: from the link to the first sign-in, and back out. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { lockLedger } from '../../src/db/people/audit.ts';
import { addPerson } from '../support/people.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Answer, type Gateway, openGateway } from './gateway.ts';

interface Invited {
  readonly id: number;
  readonly token: string;
  readonly link: string;
}
interface Members {
  readonly members: readonly {
    readonly user_id: number;
    readonly email: string;
    readonly role: string;
  }[];
}

const PASSWORD = 'a long enough password';

let gateway: Gateway;
let workspaceId: number;
let owner: Browser;
beforeAll(async () => {
  gateway = await openGateway();
  workspaceId = (await gateway.addWorkspace('crew')).id;
  const { token } = await addPerson(gateway.database, workspaceId, 'owner');
  owner = new Browser(gateway.server.baseUrl, token);
});
afterAll(() => gateway.close());

const visitor = (token: string | null = null) => new Browser(gateway.server.baseUrl, token);

async function invite(email: string, role = 'member'): Promise<Invited> {
  const answer = await owner.write('POST', '/app/api/invitations', { email, role });
  expect(answer.status, answer.text).toBe(201);
  return bodyOf<Invited>(answer);
}

const accept = (browser: Browser, token: string, fields: object = {}) =>
  browser.write('POST', '/app/api/invitations/accept', { token, ...fields });

test('somebody new follows the link, chooses a password, and is in', async () => {
  const { token, link } = await invite('new@crew.test', 'admin');
  expect(link).toMatch(new RegExp(`/app/invitation/${token}$`));
  const list = await owner.get('/app/api/invitations');
  expect(list.text).toContain('new@crew.test');
  expect(list.text).not.toContain(token);
  const browser = visitor();
  const fields = { display_name: 'New', password: PASSWORD };
  const answer = await accept(browser, token, fields);
  expect(answer.status).toBe(200);
  expect(bodyOf(answer)).toMatchObject({ role: 'admin', workspace: { slug: 'crew' } });
  expect((await browser.get('/app/api/session')).status).toBe(200);
  expect((await visitor().signIn('new@crew.test', PASSWORD)).status).toBe(200);
  expect((await accept(visitor(), token, fields)).status).toBe(404);
  const { invitations } = await owner.read<{ invitations: unknown[] }>('/app/api/invitations');
  expect(invitations).toEqual([]);
});

test('somebody with an account accepts signed in, and can turn to either workspace', async () => {
  const { id } = await gateway.addWorkspace('home');
  const person = await addPerson(gateway.database, id, 'owner');
  const { token } = await invite(person.email);
  expect((await accept(visitor(), token)).status).toBe(401);
  expect((await accept(owner, token)).status).toBe(409);
  const browser = visitor(person.token);
  expect(bodyOf(await accept(browser, token))).toMatchObject({
    role: 'member',
    workspace: { slug: 'crew' },
    workspaces: [{ slug: 'home' }, { slug: 'crew' }],
  });
  const turned = await browser.write('PUT', '/app/api/session', { workspace: 'home' });
  expect(bodyOf(turned)).toEqual({ slug: 'home', name: 'home', role: 'owner' });
  expect(await browser.read('/app/api/session')).toMatchObject({ role: 'owner' });
  const elsewhere = await browser.write('PUT', '/app/api/session', { workspace: 'default' });
  expect(elsewhere.status).toBe(404);
});

describe('whether an address has an account elsewhere', () => {
  /** What an answer says, without what differs for any two addresses. */
  const said = ({ status, headers, text }: Answer, email: string): unknown => ({
    status,
    headers: [...headers.keys()].sort(),
    text: text
      .replaceAll(email, 'ADDRESS')
      .replaceAll(/(\/|%2F|")[\w-]{43}\b/g, 'TOKEN')
      .replaceAll(/"(id|user_id)":\d+/g, '"id":0')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'),
  });

  /**
   * Everything that an admin and the holder of the link are answered, from inviting to removing.
   */
  async function answersAbout(email: string, byForm: boolean): Promise<unknown[]> {
    const invited = await owner.write('POST', '/app/api/invitations', { email, role: 'member' });
    const { token } = bodyOf<Invited>(invited);
    const path = `/app/invitation/${token}`;
    const page = await visitor().get(path);
    const asAdmin = await owner.get(path);
    const refused = await accept(owner, token);
    const holder = visitor();
    const fields = { display_name: 'Somebody', password: PASSWORD };
    const accepted = byForm
      ? await holder.send('POST', path, {
          body: new URLSearchParams(fields).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      : await accept(holder, token, fields);
    const session = await holder.get('/app/api/session');
    const signedIn = await visitor().signIn(email, PASSWORD);
    const mistyped = await visitor().signIn(email, 'not the password');
    const again = await owner.write('POST', '/app/api/invitations', { email, role: 'member' });
    const { members } = await owner.read<Members>('/app/api/members');
    const member = members.find((one) => one.email === email);
    const listed = { ...member, user_id: 0, since: null, last_seen_at: null, email: 'ADDRESS' };
    const removed = await owner.write('DELETE', `/app/api/members/${member?.user_id}`);
    const after = await holder.get('/app/api/session');
    const answers = [invited, page, asAdmin, refused, accepted, session, signedIn, mistyped, again];
    return [...[...answers, removed, after].map((answer) => said(answer, email)), listed];
  }

  test.each([true, false])(
    'is not disclosed to an inviting admin or a holder of the link (form: %s)',
    async (byForm) => {
      const elsewhere = (await gateway.addWorkspace(`elsewhere-${byForm}`)).id;
      const suffix = byForm ? 'form' : 'api';
      const known = `known-${suffix}@other.test`;
      const person = await addPerson(gateway.database, elsewhere, 'owner', {
        email: known,
        password: 'another password of theirs',
      });
      const about = await answersAbout(known, byForm);
      expect(about).toEqual(await answersAbout(`unknown-${suffix}@other.test`, byForm));
      expect(about).toContainEqual(expect.objectContaining({ status: byForm ? 303 : 200 }));
      const own = await visitor(person.token).read<object>('/app/api/session');
      expect(own).toMatchObject({ role: 'owner', workspaces: [{ slug: `elsewhere-${byForm}` }] });
      const theirs = await visitor().signIn(known, 'another password of theirs');
      expect(bodyOf(theirs)).toMatchObject({ user: { id: person.id } });
    },
  );
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
  expect((await browser.write('PUT', '/app/api/password', change)).status).toBe(200);
  expect((await visitor(person.token).get('/app/api/session')).status).toBe(200);
  const signedIn = bodyOf<{ user: { id: number } }>(await visitor().signIn(email, PASSWORD));
  expect(signedIn.user.id).toBe(person.id);
});

test('an invitation taken back is none', async () => {
  const { id, token } = await invite('late@crew.test');
  expect((await owner.write('DELETE', `/app/api/invitations/${id}`)).status).toBe(200);
  expect((await owner.write('DELETE', `/app/api/invitations/${id}`)).status).toBe(404);
  const fields = { display_name: 'Late', password: PASSWORD };
  expect((await accept(visitor(), token, fields)).status).toBe(404);
});

test('a role changed or taken away counts from the next request on', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member');
  const browser = visitor(person.token);
  const path = `/app/api/members/${person.id}`;
  expect((await browser.get('/app/api/audit')).status).toBe(403);
  expect((await owner.write('PUT', path, { role: 'admin' })).status).toBe(200);
  expect((await browser.get('/app/api/audit')).status).toBe(200);
  const { members } = await browser.read<Members>('/app/api/members');
  expect(members.find(({ user_id }) => user_id === person.id)).toMatchObject({
    email: person.email,
    role: 'admin',
  });
  expect((await owner.write('DELETE', path)).status).toBe(200);
  for (const gone of ['/app/api/members', '/app/api/audit', '/app/api/keys', '/app/api/runs']) {
    expect((await browser.get(gone)).status, gone).toBe(403);
  }
  expect(await browser.read('/app/api/session')).toMatchObject({ role: null, workspace: null });
  expect((await owner.write('DELETE', path)).status).toBe(404);
});

test('a session that ends while its write waits for its turn changes nothing', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'admin');
  const { name } = await owner.read<{ name: string }>('/app/api/settings');
  let waiting: Promise<Answer> = Promise.reject(new Error('nothing was sent'));
  waiting.catch(() => undefined);
  await inTransaction(gateway.database, async (connection) => {
    await lockLedger(connection, workspaceId);
    waiting = visitor(person.token).write('PUT', '/app/api/settings', { name: 'Too late' });
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
  expect((await waiting).status).toBe(401);
  expect(await owner.read('/app/api/settings')).toMatchObject({ name });
});

test('an admin makes no owner, and nobody takes the last owner away', async () => {
  const { token } = await addPerson(gateway.database, workspaceId, 'admin');
  const admin = visitor(token);
  const { members } = await admin.read<Members>('/app/api/members');
  const theOwner = members.find(({ role }) => role === 'owner')?.user_id;
  const path = `/app/api/members/${theOwner}`;
  const attempts = [
    await admin.write('POST', '/app/api/invitations', { email: 'o@crew.test', role: 'owner' }),
    await admin.write('PUT', path, { role: 'member' }),
    await admin.write('DELETE', path),
  ];
  for (const answer of attempts) {
    expect(answer.status).toBe(403);
    expect(bodyOf(answer)).toMatchObject({ reason: 'role_required' });
  }
  expect((await owner.write('PUT', path, { role: 'member' })).status).toBe(409);
  expect((await owner.write('DELETE', path)).status).toBe(409);
});

test.each([
  [{ email: 'no address', role: 'member' }],
  [{ email: 'a@b.test', role: 'king' }],
  [{ email: 'a@b\u0000.test', role: 'member' }],
  [{ email: 'a@b.test\r\nBcc: x@y.test', role: 'member' }],
  [{ email: `${'a'.repeat(250)}@b.test`, role: 'member' }],
  [{ role: 'member' }],
])('%o invites nobody', async (body) => {
  const answer = await owner.write('POST', '/app/api/invitations', body);
  expect(answer.status).toBe(400);
});
