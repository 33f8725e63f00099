/** GitHub, which tells who somebody is in a way of its own: over an HTTP server that answers as it does. */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createGithubProvider,
  createProviders,
  type IdentityProvider,
} from '../../../../src/http/dashboard/sign-in/identity-providers.ts';

const SETTINGS = { provider: 'github', clientId: 'id', clientSecret: 'secret', issuer: null };
const CALLBACK = 'https://sluice.test/app/sign-in/github/callback';
const VERIFIED = { email: 'ana@people.test', primary: true, verified: true };

let server: Server;
let github: IdentityProvider;
let site: string;
let answers: Record<string, unknown>;
let requests: { readonly path: string; readonly body: string; readonly authorization: string }[];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const path = request.url ?? '';
      requests.push({ path, body, authorization: request.headers.authorization ?? '' });
      const answer = answers[path];
      const isStatus = typeof answer === 'number';
      response.writeHead(answer === undefined ? 404 : isStatus ? answer : 200, {
        'content-type': 'application/json',
      });
      response.end(JSON.stringify(answer ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  site = `http://127.0.0.1:${address.port}`;
  github = createGithubProvider(SETTINGS, { site, api: `${site}/api` });
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));
beforeEach(() => {
  requests = [];
  answers = {
    '/login/oauth/access_token': { access_token: 'gho_x', token_type: 'bearer', scope: 'a,b' },
    '/api/user': { id: 42, login: 'ana', name: 'Ana' },
    '/api/user/emails': [{ ...VERIFIED, email: 'other@x.test', primary: false }, VERIFIED],
  };
});

async function signIn() {
  const { url, flow } = await github.begin(CALLBACK);
  const back = new URL(`${CALLBACK}?code=abc&state=${url.searchParams.get('state')}`);
  return { url, flow, account: await github.finish(back, flow) };
}

test('asks for user and addresses, proves the code is its own, and takes the verified address', async () => {
  const { url, flow, account } = await signIn();
  expect(url.href.startsWith(`${site}/login/oauth/authorize?`)).toBe(true);
  expect(url.searchParams.get('scope')).toBe('read:user user:email');
  expect(account).toEqual({
    provider: 'github',
    issuer: `${site}/login/oauth`,
    subject: '42',
    verifiedEmail: 'ana@people.test',
    displayName: 'Ana',
  });
  expect(requests.map(({ path }) => path)).toEqual([
    '/login/oauth/access_token',
    '/api/user',
    '/api/user/emails',
  ]);
  const exchange = new URLSearchParams(requests[0]?.body);
  expect(exchange.get('code_verifier')).toBe(flow.verifier);
  expect(exchange.get('client_secret')).toBe('secret');
  expect(requests[1]?.authorization.toLowerCase()).toBe('bearer gho_x');
});

test.each([
  [[{ ...VERIFIED, verified: false }]],
  [[{ ...VERIFIED, primary: false }]],
  [[{ email: 'a@b.test', primary: true, verified: 'true' }]],
  [[{ ...VERIFIED, email: '\u212aate@people.test' }]],
  [[{ ...VERIFIED, email: 'a\0@people.test' }]],
  [[]],
  ['none'],
])('%o is no verified address', async (emails) => {
  answers['/api/user/emails'] = emails;
  expect((await signIn()).account.verifiedEmail).toBeNull();
});

test.each(['/login/oauth/access_token', '/api/user', '/api/user/emails'])(
  '%s fails: nobody is signed in',
  async (path) => {
    answers[path] = undefined;
    await expect(signIn()).rejects.toMatchObject({ code: 'sign_in_failed' });
  },
);

test.each([
  ['  Ana  ', 'Ana'],
  ['x'.repeat(150), 'x'.repeat(100)],
  [`${'x'.repeat(99)}\u{1F511}`, 'x'.repeat(99)],
  // What is not fit to be shown, here and in a terminal: then the name GitHub knows them by.
  ['An\u0000a', 'ana'],
  ['\u001b[2JAna', 'ana'],
  ['\u202eanA', 'ana'],
  ['\u200b', 'ana'],
  [42, 'ana'],
])('somebody who is called %j there is called %j here', async (called, displayName) => {
  answers['/api/user'] = { id: 42, login: 'ana', name: called };
  expect((await signIn()).account.displayName).toBe(displayName);
});

test('another state is no way back', async () => {
  const { flow } = await github.begin(CALLBACK);
  const back = new URL(`${CALLBACK}?code=abc&state=other`);
  await expect(github.finish(back, flow)).rejects.toMatchObject({ code: 'sign_in_failed' });
  expect(requests).toEqual([]);
});

test('who can be signed in through: GitHub, and every provider with an issuer', () => {
  const named = (provider: string, issuer: string | null = null) => ({
    ...SETTINGS,
    provider,
    issuer,
  });
  const providers = createProviders([
    named('github'),
    named('nobody'),
    named('own', 'https://id.test'),
  ]);
  expect(providers.map(({ name }) => name)).toEqual(['github', 'own']);
});

test('a provider that cannot be reached may be tried again', async () => {
  const [unreachable] = createProviders([
    { ...SETTINGS, provider: 'own', issuer: 'http://127.0.0.1:9' },
  ]);
  await expect(unreachable?.begin(CALLBACK)).rejects.toMatchObject({
    code: 'provider_unavailable',
    message: 'own could not be reached. Try again.',
    retryAfterSeconds: 1,
  });
});

test.each(['/login/oauth/access_token', '/api/user', '/api/user/emails'])(
  '%s answers that it cannot now: the same when the browser has come back',
  async (path) => {
    answers[path] = 502;
    await expect(signIn()).rejects.toMatchObject({ code: 'provider_unavailable' });
  },
);

test('a provider that is gone when the browser has come back may be tried again', async () => {
  const gone = createGithubProvider(SETTINGS, {
    site: 'http://127.0.0.1:9',
    api: 'http://127.0.0.1:9',
  });
  const { url, flow } = await gone.begin(CALLBACK);
  const back = new URL(`${CALLBACK}?code=abc&state=${url.searchParams.get('state')}`);
  await expect(gone.finish(back, flow)).rejects.toMatchObject({ code: 'provider_unavailable' });
});
