/** The pages of people without a session: forms that work without a script, and run none of others’. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addPerson } from '../support/people.ts';
import { Browser, secretOf } from './browser.ts';
import { type Answer, randomId } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const PASSWORD = 'a long enough password';
const HOSTILE = `"><script>alert(1)</script>'`;

let gateway: SharedGateway;
let workspaceId: number;
let owner: Browser;
beforeAll(async () => {
  gateway = await openSharedGateway();
  workspaceId = gateway.workspace.id;
  await gateway.database.query('UPDATE workspaces SET name = $2 WHERE id = $1', [
    workspaceId,
    HOSTILE,
  ]);
  const { token } = await addPerson(gateway.database, workspaceId, 'owner');
  owner = new Browser(gateway.server.baseUrl, token);
});
afterAll(() => gateway.close());

const visitor = (token: string | null = null) => new Browser(gateway.server.baseUrl, token);

const submit = (
  browser: Browser,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  browser.send('POST', path, {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

async function invite(email: string): Promise<string> {
  const link = secretOf(await owner.submit('/app/invitations', { email, role: 'member' }));
  return link.split('/').at(-1) ?? '';
}

/** Every page: nothing runs in it, nobody frames it, nobody keeps it. */
function expectGuarded({ headers, text }: Answer): void {
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]),
  );
  expect(policy).not.toContain('unsafe');
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('same-origin');
  expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|javascript:|<style/i);
}

describe('sign-in', () => {
  test('a form signs in and leads on; signing out leads back', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const browser = visitor();
    const page = await browser.get('/app/sign-in?next=/app/rules');
    expect(page.status).toBe(200);
    expectGuarded(page);
    expect(page.text).toContain('name="next" value="/app/rules"');
    const fields = { email: person.email, password: PASSWORD, next: '/app/rules' };
    const done = await submit(browser, '/app/sign-in', fields);
    expect(done.status).toBe(303);
    expect(done.headers.get('location')).toBe('/app/rules');
    expect(await browser.account()).toMatchObject({ role: 'member' });
    const again = await browser.get('/app/sign-in?next=/app/runs');
    expect([again.status, again.headers.get('location')]).toEqual([303, '/app/runs']);
    const out = await submit(browser, '/app/sign-out', {});
    expect([out.status, out.headers.get('location')]).toEqual([303, '/app/sign-in']);
    expect(browser.token).toBeNull();
  });

  test('what did not fit is shown again, escaped, without the password', async () => {
    const email = `${HOSTILE.replaceAll(' ', '')}@people.test`;
    const page = await submit(visitor(), '/app/sign-in', { email, password: 'secret guess' });
    expect(page.status).toBe(401);
    expectGuarded(page);
    expect(page.text).toContain('Incorrect e-mail or password');
    expect(page.text).toContain('&quot;&gt;&lt;script&gt;');
    expect(page.text).not.toContain('secret guess');
  });

  test('sent from another site it signs nobody in', async () => {
    const person = await addPerson(gateway.database, workspaceId, 'member', { password: PASSWORD });
    const fields = { email: person.email, password: PASSWORD };
    const browser = visitor();
    const answer = await submit(browser, '/app/sign-in', fields, { origin: 'https://evil.test' });
    expect(answer.status).toBe(403);
    expectGuarded(answer);
    expect(browser.token).toBeNull();
  });

  test.each(['https://evil.test', '//evil.test', '/\\evil.test', '/app x: y'])(
    'next=%s leads to /app',
    async (next) => {
      const person = await addPerson(gateway.database, workspaceId, 'member');
      const page = await visitor().get(`/app/sign-in?next=${encodeURIComponent(next)}`);
      expect(page.text).toContain('name="next" value="/app"');
      const signedIn = await visitor(person.token).get(
        `/app/sign-in?next=${encodeURIComponent(next)}`,
      );
      expect(signedIn.headers.get('location')).toBe('/app');
      expect(signedIn.headers.get('x')).toBeNull();
    },
  );
});

test('a line break in next= is refused, and never a header', async () => {
  const answer = await visitor().get(`/app/sign-in?next=${encodeURIComponent('/app\r\nx: y')}`);
  expect(answer.status).toBe(400);
  expect(answer.headers.get('x')).toBeNull();
  expectGuarded(answer);
});

describe('an invitation', () => {
  test('somebody new chooses a name and a password, and is in', async () => {
    const path = `/app/invitation/${await invite('new@sign-in.test')}`;
    const browser = visitor();
    const page = await browser.get(path);
    expect(page.status).toBe(200);
    expectGuarded(page);
    expect(page.text).toContain('new@sign-in.test is invited to');
    const short = await submit(browser, path, { display_name: 'New', password: 'short' });
    expect(short.status).toBe(400);
    const done = await submit(browser, path, { display_name: 'New', password: PASSWORD });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/app']);
    expect(await browser.account()).toMatchObject({ workspace: gateway.workspace.slug });
    const used = await visitor().get(path);
    expect(used.status).toBe(404);
    expectGuarded(used);
  });

  test('somebody with an account joins with one press', async () => {
    const { id } = await gateway.addWorkspace(`home-${randomId(8)}`);
    const person = await addPerson(gateway.database, id, 'owner');
    const path = `/app/invitation/${await invite(person.email)}`;
    const browser = visitor(person.token);
    expect((await browser.get(path)).text).toContain(`Join as ${person.email}`);
    expect((await submit(browser, path, {})).status).toBe(303);
    expect(await browser.account()).toMatchObject({ workspace: gateway.workspace.slug });
  });

  test.each(['x', 'a'.repeat(43), '..%2f..', '%0'])('there is none "%s"', async (token) => {
    const answer = await visitor().get(`/app/invitation/${token}`);
    expect(answer.status).toBe(404);
  });
});
