/**
 * Signing in to a running server: who gets in, what the cookie is like, how a session begins, is
 * seen, and ends; and what keeps other sites and guesses out.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addPerson } from '../support/people.ts';
import { findFreePort } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Gateway, openGateway } from './gateway.ts';

interface SessionView {
  readonly user: { readonly email: string };
  readonly role: string;
  readonly plan: string;
  readonly workspace: { readonly slug: string };
  readonly workspaces: readonly { readonly slug: string }[];
}
interface Listed {
  readonly sessions: readonly { readonly id: string; readonly current: boolean }[];
}

const PASSWORD = 'correct horse battery';

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
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const session = await browser.read<SessionView>('/app/api/session');
    expect(session).toEqual({
      user: { id: expect.any(Number), email, display_name: 'Owner' },
      role: 'owner',
      plan: 'free',
      workspace: { slug: 'default', name: 'Default', plan: 'free', redact_excerpts: false },
      workspaces: [{ slug: 'default', name: 'Default', role: 'owner' }],
      expires_at: expect.stringMatching(/^\d{4}-/),
    });
    expect(bodyOf(answer)).toEqual(session);
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
    expect((await browser.signIn(person.email, PASSWORD)).status).toBe(200);
    expect(browser.token).not.toBe(chosen);
    expect((await visitor(chosen).get('/app/api/session')).status).toBe(401);

    const before = browser.token ?? '';
    expect((await browser.signIn(person.email, PASSWORD)).status).toBe(200);
    expect(browser.token).not.toBe(before);
    expect((await visitor(before).get('/app/api/session')).status).toBe(401);
    expect((await browser.get('/app/api/session')).status).toBe(200);
  });

  test('sent twice, as when a neighbour planted one, it is no session', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const cookie = `sluice_session=${token}; sluice_session=${'B'.repeat(43)}`;
    const answer = await visitor().send('GET', '/app/api/session', { headers: { cookie } });
    expect(answer.status).toBe(401);
  });

  test.each(['', 'x', 'a b', `${'c'.repeat(43)}=`, "'; DROP TABLE sessions; --"])(
    'with the value "%s" it is none',
    async (value) => {
      const headers = { cookie: `sluice_session=${value}` };
      const answer = await visitor().send('GET', '/app/api/session', { headers });
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
  test('and an unknown account are told alike', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const without = await addPerson(gateway.database, workspaceId, 'member');
    const answers = [
      await visitor().signIn(person.email, 'wrong horse battery'),
      await visitor().signIn('nobody@people.test', 'wrong horse battery'),
      await visitor().signIn(without.email, 'wrong horse battery'),
    ];
    for (const { status, text, headers } of answers) {
      expect({ status, text }).toEqual({ status: 401, text: answers[0]?.text });
      expect(headers.getSetCookie()).toEqual([]);
    }
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ reason: 'sign_in_failed' });
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
    expect(bodyOf(refused)).toMatchObject({ type: '/docs/errors#too_many_attempts' });
  });
});

describe('another site', () => {
  const attempt = async (headers: Record<string, string>): Promise<number> => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const init = { body: '{"workspace":"default"}', headers };
    return (await visitor(token).send('PUT', '/app/api/session', init)).status;
  };

  test.each([
    [{ origin: 'https://evil.test' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: '' }, 403],
    [{ origin: 'http://sluice.test.evil.test' }, 403],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'http://sluice.test' }, 200],
    [{ origin: 'http://sluice.test', 'sec-fetch-site': 'same-origin' }, 200],
    [{ origin: '', 'sec-fetch-site': 'same-origin' }, 200],
  ] as const)('%o is answered %d', async (headers, status) => {
    expect(await attempt(headers)).toBe(status);
  });

  test('cannot sign anybody in or out either', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member');
    const headers = { origin: 'https://evil.test' };
    const body = JSON.stringify({ email: person.email, password: PASSWORD });
    const signIn = await visitor().send('POST', '/app/api/sign-in', { body, headers });
    expect(signIn.status).toBe(403);
    const browser = visitor(person.token);
    expect((await browser.send('POST', '/app/api/sign-out', { headers })).status).toBe(403);
    expect((await browser.get('/app/api/session')).status).toBe(200);
  });

  test('a form of it is refused for its type as well', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'member');
    const init = { body: '{"workspace":"default"}', headers: { 'content-type': 'text/plain' } };
    expect((await visitor(token).send('PUT', '/app/api/session', init)).status).toBe(415);
  });
});

describe('sessions', () => {
  test('are listed, and one that is revoked is refused at once', async () => {
    const first = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const one = visitor(first.token);
    const other = visitor();
    await other.signIn(first.email, PASSWORD);
    const { sessions } = await one.read<Listed>('/app/api/sessions');
    expect(sessions).toHaveLength(2);
    expect(sessions.filter(({ current }) => current)).toHaveLength(1);
    const theirs = sessions.find(({ current }) => !current);
    expect(theirs).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      current: false,
      created_at: expect.any(String),
      last_seen_at: expect.any(String),
      expires_at: expect.any(String),
      user_agent: 'another program',
      address: '127.0.0.0/24',
    });
    const path = `/app/api/sessions/${theirs?.id}`;
    expect((await one.write('DELETE', path)).status).toBe(200);
    expect((await other.get('/app/api/session')).status).toBe(401);
    expect((await one.get('/app/api/session')).status).toBe(200);
    expect((await one.write('DELETE', path)).status).toBe(404);
  });

  test('all others end together; signing out ends one’s own', async () => {
    const first = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const browsers = [visitor(), visitor()];
    for (const browser of browsers) await browser.signIn(first.email, PASSWORD);
    const own = visitor(first.token);
    expect(bodyOf(await own.write('DELETE', '/app/api/sessions'))).toEqual({ revoked: 2 });
    for (const { token } of browsers) {
      expect((await visitor(token).get('/app/api/session')).status).toBe(401);
    }
    const out = await own.write('POST', '/app/api/sign-out');
    expect(out.headers.getSetCookie()).toEqual([
      'sluice_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
    expect((await visitor(first.token).get('/app/api/session')).status).toBe(401);
  });

  test('of others are not there', async () => {
    const mine = await addPerson(gateway.database, workspaceId, 'owner');
    const theirs = await addPerson(gateway.database, workspaceId, 'member');
    const list = await visitor(theirs.token).read<Listed>('/app/api/sessions');
    const path = `/app/api/sessions/${list.sessions[0]?.id}`;
    expect((await visitor(mine.token).write('DELETE', path)).status).toBe(404);
    expect((await visitor(theirs.token).get('/app/api/session')).status).toBe(200);
  });

  test.each([
    ["expires_at = now() - interval '1 second'"],
    ["last_seen_at = now() - interval '13 hours'"],
  ])('end by themselves: %s', async (change) => {
    const { id, token } = await addPerson(gateway.database, workspaceId, 'member');
    await gateway.database.query(`UPDATE sessions SET ${change} WHERE user_id = $1`, [id]);
    expect((await visitor(token).get('/app/api/session')).status).toBe(401);
  });
});

test('another password ends every session, this one goes on under a new token', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  const browser = visitor(person.token);
  const change = (current: string, next: string) =>
    browser.write('PUT', '/app/api/password', { current_password: current, new_password: next });
  expect((await change('not the password', 'another horse entirely')).status).toBe(401);
  expect((await change(PASSWORD, 'short')).status).toBe(400);
  expect((await change(PASSWORD, 'another horse entirely')).status).toBe(200);
  expect(browser.token).not.toBe(person.token);
  expect((await visitor(person.token).get('/app/api/session')).status).toBe(401);
  expect((await browser.get('/app/api/session')).status).toBe(200);
  expect((await visitor().signIn(person.email, 'another horse entirely')).status).toBe(200);
});

test('the log holds no password, no token, no address', async () => {
  const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
  const browser = visitor();
  const wrong = 'a password that was mistyped';
  expect((await browser.signIn(person.email, wrong)).status).toBe(401);
  expect((await browser.signIn(person.email, PASSWORD)).status).toBe(200);
  const first = browser.token ?? '';
  const next = 'the password that comes after';
  const change = { current_password: PASSWORD, new_password: next };
  expect((await browser.write('PUT', '/app/api/password', change)).status).toBe(200);
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
  await browser.write('DELETE', '/app/api/sessions');
  await visitor().signIn(person.email, PASSWORD);
  const { sessions } = await browser.read<Listed>('/app/api/sessions');
  const other = sessions.find(({ current }) => !current)?.id ?? '';
  await browser.write('DELETE', `/app/api/sessions/${other}`);
  const next = { current_password: PASSWORD, new_password: 'the password that comes after' };
  await browser.write('PUT', '/app/api/password', next);
  await browser.write('POST', '/app/api/sign-out');
  const told = await waitFor(
    () => {
      const lines = gateway.server.stderr().slice(before).trimEnd().split('\n');
      const facts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const own = facts.filter(({ address }) => address === '127.0.0.1');
      return own.at(-1)?.msg === 'signed out' && own;
    },
    { withinMs: 10_000, what: () => `the log tells of it: ${gateway.server.stderr()}` },
  );
  const way = 'password';
  expect(told).toMatchObject([
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
    const turned = await visitor(token).write('PUT', '/app/api/session', { workspace: slug });
    expect(turned.status).toBe(400);
    const body = { email: 'a@b.test', password: 'x', workspace: slug };
    expect((await visitor().write('POST', '/app/api/sign-in', body)).status).toBe(400);
  },
);

test('bodies are small JSON objects, and every fault is named', async () => {
  const send = (body: string) => visitor().send('POST', '/app/api/sign-in', { body });
  const faults = async (body: string) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    return bodyOf<{ errors: { path: string }[] }>(answer).errors.map(({ path }) => path);
  };
  expect(await faults('{')).toEqual(['']);
  expect(await faults('[]')).toEqual(['']);
  expect(await faults('{"email":"a","password":1}')).toEqual(['email', 'password']);
  expect(await faults('{"email":"a@b","password":"x","admin":true}')).toEqual(['']);
  const large = await send(`{"email":"a@b","password":"${'x'.repeat(17_000)}"}`);
  expect(large.status).toBe(413);
});
