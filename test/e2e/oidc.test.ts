/**
 * Signing in through a provider: a real identity provider of OpenID Connect on this machine, a real
 * browser's cookies, and everything that must not get anybody in.
 */
import { type MutableToken, OAuth2Server } from 'oauth2-mock-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { findSession } from '../../src/db/people/sessions.ts';
import { addPerson, ledgerOf } from '../support/people.ts';
import { findFreePort } from '../support/sockets.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Answer, type Gateway, openGateway, request } from './gateway.ts';

const PATH = '/app/sign-in/acme';
const FLOW = 'sluice_sign_in';

let provider: OAuth2Server;
let gateway: Gateway;
let workspaceId: number;
let baseUrl: string;
/** the provider's claims about the person who signs in */
let person: Record<string, unknown>;
/** its claims at the userinfo endpoint, beside the subject */
let profile: Record<string, unknown>;

beforeAll(async () => {
  provider = new OAuth2Server();
  await provider.issuer.keys.generate('RS256');
  await provider.start(0, '127.0.0.1');
  const issuer = `http://127.0.0.1:${provider.address().port}`;
  provider.issuer.url = issuer;
  provider.service.on('beforeTokenSigning', (token: MutableToken) => {
    Object.assign(token.payload, person);
  });
  provider.service.on('beforeUserinfo', (answer: { body: unknown }) => {
    answer.body = { sub: person.sub, ...profile };
  });
  const port = await findFreePort();
  baseUrl = `http://127.0.0.1:${port}`;
  gateway = await openGateway({
    PORT: String(port),
    BASE_URL: baseUrl,
    OAUTH_ACME_CLIENT_ID: 'sluice',
    OAUTH_ACME_CLIENT_SECRET: 'a secret of the client',
    OAUTH_ACME_ISSUER: issuer,
    OAUTH_NOWHERE_CLIENT_ID: 'sluice',
    OAUTH_NOWHERE_CLIENT_SECRET: 'secret',
  });
  workspaceId = (await gateway.addWorkspace('crew')).id;
});
afterAll(async () => {
  await gateway.close();
  await provider.stop();
});

let subjects = 0;
beforeEach(() => {
  subjects += 1;
  person = { sub: `subject-${subjects}`, name: 'Pat', email_verified: true };
  profile = {};
});

const visitor = () => new Browser(baseUrl);

/** The id of the user whose session a browser has. */
async function userOf({ token }: Browser): Promise<number | undefined> {
  return (await findSession(gateway.database, token ?? ''))?.userId;
}

/** Goes to the provider and tells the address that it sends the browser back to. */
async function visitProvider(browser: Browser, query = ''): Promise<URL> {
  const left = await browser.get(`${PATH}${query}`);
  expect(left.status, left.text).toBe(303);
  const there = await request(left.headers.get('location') ?? '', { redirect: 'manual' });
  return new URL(there.headers.get('location') ?? '');
}

const comeBack = (browser: Browser, back: URL): Promise<Answer> =>
  browser.get(`${back.pathname}${back.search}`);

async function signIn(browser: Browser, query = ''): Promise<Answer> {
  return await comeBack(browser, await visitProvider(browser, query));
}

describe('somebody with an account', () => {
  test('is signed in by a verified address, and by the same subject from then on', async () => {
    const { email, id } = await addPerson(gateway.database, workspaceId, 'admin');
    person = { ...person, email: email.toUpperCase() };
    const browser = visitor();
    const answer = await signIn(browser, '?next=/app/runs');
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).toContain('<meta http-equiv="refresh" content="0; url=/app/runs">');
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^sluice_session=[\w-]{43}; .*; HttpOnly; SameSite=Strict$/),
      `${FLOW}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`,
    ]);
    expect(await browser.account()).toMatchObject({ email, role: 'admin' });
    person = { ...person, email: 'moved@elsewhere.test', email_verified: false };
    const later = visitor();
    expect((await signIn(later)).status).toBe(200);
    expect(await later.account()).toMatchObject({ email });
    expect(await userOf(later)).toBe(id);
  });

  test('leaves with PKCE, state, nonce and a short-lived cookie', async () => {
    const left = await visitor().get(PATH);
    const { searchParams } = new URL(left.headers.get('location') ?? '');
    expect(Object.fromEntries(searchParams)).toEqual({
      redirect_uri: `${baseUrl}${PATH}/callback`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      client_id: 'sluice',
      response_type: 'code',
    });
    expect(left.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^sluice_sign_in=[\w-]+\.[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    expect(left.headers.get('cache-control')).toBe('no-store');
  });

  test('keeps no session that was open before', async () => {
    const { email, token } = await addPerson(gateway.database, workspaceId, 'member');
    person = { ...person, email };
    const browser = new Browser(baseUrl, token);
    expect((await signIn(browser)).status).toBe(200);
    expect(browser.token).not.toBe(token);
    expect(await new Browser(baseUrl, token).isSignedIn()).toBe(false);
  });
});

describe('somebody without', () => {
  test('who is invited gets one with that role', async () => {
    const { token } = await addPerson(gateway.database, workspaceId, 'owner');
    const owner = new Browser(baseUrl, token);
    const guest = { email: 'Invited@crew.test', role: 'admin' };
    expect((await owner.submit('/app/invitations', guest)).status).toBe(200);
    person = { ...person, email: 'invited@crew.test' };
    const browser = visitor();
    expect((await signIn(browser)).status).toBe(200);
    expect(await browser.account()).toMatchObject({
      email: 'invited@crew.test',
      role: 'admin',
      workspace: 'crew',
    });
    expect((await browser.get('/app/members')).text).toContain('<td data-label="Name">Pat</td>');
    const [latest] = await ledgerOf(gateway.database, workspaceId);
    expect(latest).toMatchObject({
      action: 'member.joined',
      subject: 'Invited@crew.test',
      origin: '127.0.0.1',
    });
  });

  test('is nobody either when address and verification come from two answers', async () => {
    const { email } = await addPerson(gateway.database, workspaceId, 'owner');
    profile = { email };
    expect((await signIn(visitor())).status).toBe(403);
    person = { ...person, email, email_verified: undefined };
    profile = { email_verified: true };
    expect((await signIn(visitor())).status).toBe(403);
    profile = { email, email_verified: true };
    expect((await signIn(visitor())).status).toBe(200);
  });

  test('with a subject that is none is not signed in', async () => {
    const { email } = await addPerson(gateway.database, workspaceId, 'owner');
    for (const sub of ['a\u0000b', 'x'.repeat(256)]) {
      person = { ...person, email, sub };
      expect((await signIn(visitor())).status).toBe(401);
    }
  });

  test.each([
    ['a stranger', { email: 'stranger@elsewhere.test' }],
    ['no address at all', {}],
    ['an address that is not verified', { unverified: true, email_verified: false }],
    ['one that is "verified" as text', { unverified: true, email_verified: 'true' }],
    ['one nobody says is verified', { unverified: true, email_verified: undefined }],
  ])('%s does not get in', async (_who, claims) => {
    const { email } = await addPerson(gateway.database, workspaceId, 'owner');
    const { unverified, ...said } = claims as Record<string, unknown>;
    person = { ...person, ...(unverified === true ? { email } : {}), ...said };
    const browser = visitor();
    const answer = await signIn(browser);
    expect(answer.status).toBe(403);
    expect(browser.token).toBeNull();
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  });
});

describe('what does not fit', () => {
  const refused = async (browser: Browser, back: URL): Promise<void> => {
    const answer = await comeBack(browser, back);
    expect(answer.status, answer.text).toBe(401);
    expect(browser.token).toBeNull();
  };
  beforeEach(async () => {
    const { email } = await addPerson(gateway.database, workspaceId, 'owner');
    person = { ...person, email };
  });

  test('another browser’s way back: the cookie is missing', async () => {
    await refused(visitor(), await visitProvider(visitor()));
  });

  test('another sign-in’s way back: the state differs', async () => {
    const [one, other] = [visitor(), visitor()];
    const back = await visitProvider(one);
    await visitProvider(other);
    await refused(other, back);
  });

  test('a state made up', async () => {
    const browser = visitor();
    const back = await visitProvider(browser);
    back.searchParams.set('state', 'x');
    await refused(browser, back);
  });

  test('a cookie changed, or signed by somebody else', async () => {
    const browser = visitor();
    const back = await visitProvider(browser);
    const [payload = '', signature = ''] = (browser.cookies.get(FLOW) ?? '').split('.');
    const kept = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...kept, next: '/app/x' })).toString('base64url');
    for (const value of [`${changed}.${signature}`, payload, `.${signature}`, `${payload}.AAAA`]) {
      browser.cookies.set(FLOW, value);
      await refused(browser, back);
      browser.token = null;
    }
  });

  test('a code used twice', async () => {
    const browser = visitor();
    const back = await visitProvider(browser);
    const cookie = browser.cookies.get(FLOW) ?? '';
    expect((await comeBack(browser, back)).status).toBe(200);
    const again = visitor();
    again.cookies.set(FLOW, cookie);
    await refused(again, back);
  });

  test.each([
    ['another audience', { aud: 'somebody else' }],
    ['another issuer', { iss: 'https://evil.test' }],
    ['another nonce', { nonce: 'of another sign-in' }],
    ['a token of the past', { exp: 1_600_000_000 }],
  ])('%s', async (_what, claims) => {
    person = { ...person, ...claims };
    const browser = visitor();
    await refused(browser, await visitProvider(browser));
  });

  test('a token that the provider did not sign', async () => {
    const forge = ({ body }: { body: { id_token: string } }): void => {
      const [head, claims, signature = ''] = body.id_token.split('.');
      const other = Buffer.from(signature, 'base64url').reverse().toString('base64url');
      body.id_token = `${head}.${claims}.${other}`;
    };
    provider.service.once('beforeResponse', forge);
    const browser = visitor();
    await refused(browser, await visitProvider(browser));
  });

  test('the provider says no', async () => {
    const browser = visitor();
    const back = await visitProvider(browser);
    back.searchParams.delete('code');
    back.searchParams.set('error', 'access_denied');
    back.searchParams.set('error_description', '<script>alert(1)</script>');
    const answer = await comeBack(browser, back);
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('alert(1)');
  });
});

describe('no open redirect, no header injection', () => {
  test.each([
    'https://evil.test/',
    '//evil.test/app',
    '/\\evil.test',
    '/app/../..//evil.test',
    '/app//evil.test',
    '/app/%2e%2e/%2e%2e/x',
    '/app/"><script>',
    'javascript:alert(1)',
    '/application',
    '',
  ])('next=%s leads to /app', async (next) => {
    const { email } = await addPerson(gateway.database, workspaceId, 'member');
    person = { ...person, email };
    const browser = visitor();
    const answer = await signIn(browser, `?next=${encodeURIComponent(next)}`);
    expect(answer.text).toContain('<meta http-equiv="refresh" content="0; url=/app">');
    expect(answer.text).not.toContain('evil.test');
    const cookies = answer.headers.getSetCookie();
    expect(cookies).toHaveLength(2);
  });

  test('a next with control characters is refused', async () => {
    const next = encodeURIComponent('/app\r\nset-cookie: sluice_session=x');
    const answer = await visitor().get(`${PATH}?next=${next}`);
    expect(answer.status).toBe(400);
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test('a provider that is not there is 404, and one without an issuer is not offered', async () => {
    const names = { nowhere: 404, 'x%0d%0aset-cookie:%20a=b': 400, '..%2f': 404, ACME: 404 };
    for (const [name, status] of Object.entries(names)) {
      const answer = await visitor().get(`/app/sign-in/${name}`);
      expect(answer.status, name).toBe(status);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    const page = await visitor().get('/app/sign-in');
    expect(page.text).toContain('Sign in with acme');
    expect(page.text).not.toContain('nowhere');
    const key = { authorization: `Bearer ${gateway.keys.workspace}` };
    const listed = await request(`${baseUrl}/api/v1/auth/oauth/providers`, { headers: key });
    expect(bodyOf(listed)).toEqual({ providers: ['acme', 'nowhere'], total: 2 });
  });
});
