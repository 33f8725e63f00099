/**
 * Signing in to a running server: who gets in, what the cookie is like, how a session begins, is
 * seen, and ends; and what keeps other sites and guesses out.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addMember } from '../../src/db/people/memberships.ts';
import { findSession, listSessions } from '../../src/db/people/sessions.ts';
import { addPerson } from '../support/people.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Gateway, openGateway } from './gateway.ts';

const PASSWORD = 'correct horse battery';
/** Where somebody without a session is sent from the settings page. */
const SIGN_IN_FIRST = '/app/sign-in?next=%2Fapp%2Fsettings';

let gateway: Gateway;
let workspaceId: number;
/** The listener's own address; BASE_URL is a name that only a proxy would serve. */
let here: string;
beforeAll(async () => {
  const port = await findFreePort();
  here = `http://127.0.0.1:${port}`;
  gateway = await openGateway({
    PORT: String(port),
    BASE_URL: 'http://sluice.test',
    LOG_LEVEL: 'debug',
  });
  const { rows } = await gateway.database.query<{ id: number }>('SELECT id FROM workspaces');
  workspaceId = rows[0]?.id ?? 0;
});
afterAll(() => gateway.close());

const visitor = (token: string | null = null): Browser => new Browser(here, token);

describe('the first owner', () => {
  test('signs in with the password of the summary, and sees who they are', async () => {
    const { email, password } = gateway.owner;
    const browser = visitor();
    const answer = await browser.signIn(email.toUpperCase(), password);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/app']);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await browser.account()).toEqual({
      email,
      role: 'owner',
      plan: 'free',
      workspace: 'default',
      workspaces: [],
    });
    expect((await browser.get('/app/members')).text).toContain('<td data-label="Name">Owner</td>');
  });
});

describe('the cookie', () => {
  test('HttpOnly, SameSite=Strict, for the whole host, with an end', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const answer = await visitor().signIn(person.email, PASSWORD);
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^sluice_session=[\w-]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/,
      ),
    ]);
  });

  test('a session cannot be fixed: a token somebody chose is never taken over', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const chosen = 'A'.repeat(43);
    const browser = visitor(chosen);
    expect((await browser.signIn(person.email, PASSWORD)).status).toBe(303);
    expect(browser.token).not.toBe(chosen);
    expect(await visitor(chosen).isSignedIn()).toBe(false);

    const before = browser.token ?? '';
    expect((await browser.signIn(person.email, PASSWORD)).status).toBe(303);
    expect(browser.token).not.toBe(before);
    expect(await visitor(before).isSignedIn()).toBe(false);
    expect(await browser.isSignedIn()).toBe(true);
  });

  test('sent twice, as when a neighbour planted one, it is no session', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const cookie = `sluice_session=${token}; sluice_session=${'B'.repeat(43)}`;
    const answer = await visitor().send('GET', '/app/settings', { headers: { cookie } });
    expect(answer.headers.get('location')).toBe(SIGN_IN_FIRST);
  });

  test.each(['', 'x', 'a b', `${'c'.repeat(43)}=`, "'; DROP TABLE sessions; --"])(
    'with the value "%s" it is none',
    async (value) => {
      const headers = { cookie: `sluice_session=${value}` };
      const page = await visitor().send('GET', '/app/settings', { headers });
      expect([page.status, page.headers.get('location')]).toEqual([303, SIGN_IN_FIRST]);
      const body = '{"experimental":true}';
      const answer = await visitor().send('PUT', '/app/api/atr/settings', { body, headers });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Session');
      expect(bodyOf(answer)).toMatchObject({ reason: 'not_signed_in' });
    },
  );

  test('only its digest is stored', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const { rows } = await gateway.database.query('SELECT to_jsonb(sessions) AS row FROM sessions');
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});

describe('a wrong password', () => {
  test('and an unknown account get the same answer', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const without = await addPerson(gateway.database, workspaceId, 'member');
    const pages: string[] = [];
    for (const email of [person.email, 'nobody@people.test', without.email]) {
      const { status, text, headers } = await visitor().signIn(email, 'wrong horse battery');
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Session']);
      expect(headers.getSetCookie()).toEqual([]);
      expect(text).toContain('Incorrect e-mail or password.');
      pages.push(text.replaceAll(email, 'ADDRESS'));
    }
    expect(new Set(pages).size).toBe(1);
  });

  test('is tried five times a minute, then the right one is refused too', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      statuses.push((await visitor().signIn(person.email, `guess number ${attempt}`)).status);
    }
    const refused = await visitor().signIn(person.email.toUpperCase(), PASSWORD);
    expect([...statuses, refused.status]).toEqual([401, 401, 401, 401, 401, 429]);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    expect(refused.text).toContain('Too many sign-in attempts');
  });
});

describe('another site', () => {
  const attempt = async (headers: Record<string, string>): Promise<number> => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const fields = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
    const init = { body: 'workspace=default', headers: fields };
    return (await visitor(token).send('POST', '/app/workspace', init)).status;
  };

  test.each([
    [{ origin: 'https://evil.test' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: '' }, 403],
    [{ origin: 'http://sluice.test.evil.test' }, 403],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'http://sluice.test' }, 303],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'same-origin' }, 303],
    [{ origin: '', 'sec-fetch-site': 'same-origin' }, 303],
  ] as const)('%o is answered %d', async (headers, status) => {
    expect(await attempt(headers)).toBe(status);
  });

  test('cannot sign anybody in or out either', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member');
    const headers = {
      origin: 'https://evil.test',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const body = new URLSearchParams({ email: person.email, password: PASSWORD }).toString();
    const signIn = await visitor().send('POST', '/app/sign-in', { body, headers });
    expect(signIn.status).toBe(403);
    const browser = visitor(person.token);
    expect((await browser.send('POST', '/app/sign-out', { headers })).status).toBe(403);
    expect(await browser.isSignedIn()).toBe(true);
  });

  test('a form of it is refused for its type as well', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const headers = { 'content-type': 'text/plain' };
    const form = { body: 'workspace=default', headers };
    expect((await visitor(token).send('POST', '/app/workspace', form)).status).toBe(415);
    await gateway.database.query("UPDATE workspaces SET plan = 'team'");
    const owner = await addPerson(gateway.database, workspaceId, 'owner');
    const path = '/app/api/atr/settings?workspace=default';
    const json = { body: '{"experimental":true}', headers };
    expect((await visitor(owner.token).send('PUT', path, json)).status).toBe(415);
  });
});

describe('sessions', () => {
  test('are listed, and one that is revoked is refused at once', async () => {
    const first = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const one = visitor(first.token);
    const other = visitor();
    await other.signIn(first.email, PASSWORD);
    const sessions = await listSessions(gateway.database, first.id);
    expect(sessions).toHaveLength(2);
    const theirs = sessions.find(({ userAgent }) => userAgent !== 'a test');
    expect(theirs).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      createdAt: expect.any(Date),
      lastSeenAt: expect.any(Date),
      expiresAt: expect.any(Date),
      userAgent: 'another program',
      address: '127.0.0.0/24',
    });
    const page = (await one.get('/app/settings')).text;
    expect(page.match(/<span class="soft">this session<\/span>/g)).toHaveLength(1);
    expect(page).toContain('another program');
    const path = `/app/sessions/${theirs?.id}/end`;
    expect(page).toContain(`action="${path}"`);
    expect((await one.submit(path)).status).toBe(303);
    expect(await other.isSignedIn()).toBe(false);
    expect(await one.isSignedIn()).toBe(true);
    expect((await one.submit(path)).status).toBe(404);
  });

  test('all others end together; signing out ends one’s own', async () => {
    const first = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const browsers = [visitor(), visitor()];
    for (const browser of browsers) await browser.signIn(first.email, PASSWORD);
    const own = visitor(first.token);
    expect((await own.submit('/app/sessions/end-others')).status).toBe(303);
    expect(await own.isSignedIn()).toBe(true);
    for (const { token } of browsers) {
      expect(await visitor(token).isSignedIn()).toBe(false);
    }
    const out = await own.submit('/app/sign-out');
    expect(out.headers.getSetCookie()).toEqual([
      'sluice_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
    expect(await visitor(first.token).isSignedIn()).toBe(false);
  });

  test('of others are not there', async () => {
    const mine = await addPerson(gateway.database, workspaceId, 'owner');
    const theirs = await addPerson(gateway.database, workspaceId, 'member');
    const [session] = await listSessions(gateway.database, theirs.id);
    const path = `/app/sessions/${session?.id}/end`;
    expect((await visitor(mine.token).submit(path)).status).toBe(404);
    expect(await visitor(theirs.token).isSignedIn()).toBe(true);
  });

  test.each([
    ["expires_at = now() - interval '1 second'"],
    ["last_seen_at = now() - interval '13 hours'"],
  ])('end by themselves: %s', async (change) => {
    const { id, token } = await addPerson(gateway.database, workspaceId, 'member');
    await gateway.database.query(`UPDATE sessions SET ${change} WHERE user_id = $1`, [id]);
    expect(await visitor(token).isSignedIn()).toBe(false);
  });
});

test('another password ends every session, this one continues under a new token', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  const browser = visitor(person.token);
  const change = (current: string, next: string) =>
    browser.submit('/app/password', { current_password: current, new_password: next });
  expect((await change('not the password', 'another horse entirely')).status).toBe(401);
  expect((await change(PASSWORD, 'short')).status).toBe(400);
  expect((await change(PASSWORD, 'another horse entirely')).status).toBe(303);
  expect(browser.token).not.toBe(person.token);
  expect(await visitor(person.token).isSignedIn()).toBe(false);
  expect(await browser.isSignedIn()).toBe(true);
  expect((await visitor().signIn(person.email, 'another horse entirely')).status).toBe(303);
});

test('the log holds no password, no token, no address', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  const browser = visitor();
  const wrong = 'a password that was mistyped';
  expect((await browser.signIn(person.email, wrong)).status).toBe(401);
  expect((await browser.signIn(person.email, PASSWORD)).status).toBe(303);
  const first = browser.token ?? '';
  const next = 'the password that comes after';
  const change = { current_password: PASSWORD, new_password: next };
  expect((await browser.submit('/app/password', change)).status).toBe(303);
  const log = gateway.server.stderr();
  expect(log).toContain('sign-in refused');
  const secrets = [wrong, PASSWORD, next, first, browser.token ?? '', person.token, person.email];
  for (const secret of [...secrets, gateway.owner.password, gateway.keys.agent]) {
    expect(secret).not.toBe('');
    expect(log.includes(secret), secret).toBe(false);
  }
});

test('who signs in, fails to, and ends sessions is logged with account and address', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  const { rows } = await gateway.database.query<{ id: number }>(
    'SELECT id FROM users WHERE email = $1',
    [person.email],
  );
  const user = rows[0]?.id;
  const before = gateway.server.stderr().length;
  const browser = visitor();
  await browser.signIn(person.email, 'a password that was mistyped');
  await browser.signIn('nobody@else.test', PASSWORD);
  await browser.signIn(person.email, PASSWORD);
  await browser.submit('/app/sessions/end-others');
  await visitor().signIn(person.email, PASSWORD);
  const own = await findSession(gateway.database, browser.token ?? '');
  const sessions = await listSessions(gateway.database, person.id);
  const other = sessions.find(({ id }) => id !== own?.id);
  await browser.submit(`/app/sessions/${other?.id}/end`);
  const next = { current_password: PASSWORD, new_password: 'the password that comes after' };
  await browser.submit('/app/password', next);
  await browser.submit('/app/sign-out');
  const listed = await waitFor(
    () => {
      const lines = gateway.server.stderr().slice(before).trimEnd().split('\n');
      const facts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const own = facts.filter(({ address }) => address === '127.0.0.1');
      return own.at(-1)?.msg === 'signed out' && own;
    },
    { withinMs: 10_000, what: () => `the log tells of it: ${gateway.server.stderr()}` },
  );
  const way = 'password';
  expect(listed).toMatchObject([
    { level: 40, way, outcome: 'failed', user, msg: 'sign-in refused' },
    { level: 40, way, outcome: 'failed', user: null, msg: 'sign-in refused' },
    { level: 30, way, user, msg: 'signed in' },
    { sessions: 1, user, msg: 'sessions revoked' },
    { way, user, msg: 'signed in' },
    { sessions: 1, user, msg: 'sessions revoked' },
    { way, user, msg: 'signed in' },
    { user, msg: 'password changed' },
    { user, msg: 'signed out' },
  ]);
});

test.each(['a\u0000', 'x'.repeat(64), "default'--"])(
  'a workspace "%s" is none, and no fault of the server',
  async (slug) => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const turned = await visitor(token).submit('/app/workspace', { workspace: slug });
    expect(turned.status).toBe(400);
    const fields = { email: 'a@b.test', password: 'x', workspace: slug };
    expect((await visitor().submit('/app/sign-in', fields)).status).toBe(400);
  },
);

test('a named workspace is the one that a sign-in opens', async () => {
  const { id } = await gateway.addWorkspace('named');
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  await addMember(gateway.database, id, person.id, 'admin');
  const browser = visitor();
  const fields = { email: person.email, password: PASSWORD };
  const named = await browser.submit('/app/sign-in', { ...fields, workspace: 'named' });
  expect(named.status).toBe(303);
  expect(await browser.account()).toMatchObject({ workspace: 'named', role: 'admin' });
  const elsewhere = await visitor().submit('/app/sign-in', { ...fields, workspace: 'nowhere' });
  expect(elsewhere.status).toBe(403);
});

test('bodies are small, and every fault is named', async () => {
  await gateway.database.query("UPDATE workspaces SET plan = 'team'");
  const { token } = await addPerson(gateway.database, workspaceId, 'owner');
  const owner = visitor(token);
  const put = (body: string) =>
    owner.send('PUT', '/app/api/atr/settings?workspace=default', { body });
  const faults = async (body: string) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    return bodyOf<{ errors: { path: string }[] }>(answer).errors.map(({ path }) => path);
  };
  expect(await faults('{')).toEqual(['']);
  expect(await faults('[]')).toEqual(['']);
  expect(await faults('{"experimental":1}')).toEqual(['experimental']);
  expect(await faults('{"experimental":true,"admin":true}')).toEqual(['']);
  const large = await put(`{"experimental":true,"x":"${'x'.repeat(17_000)}"}`);
  expect(large.status).toBe(413);
  const form = await owner.submit('/app/keys', { kind: 'king', name: '' });
  expect(form.status).toBe(400);
  expect(form.text).toMatch(/<li>name: [^<]+<\/li><li>kind: [^<]+<\/li>/);
});
