/**
 * Errors as a browser sees them: a page with the navigation of the signed-in user and what was typed,
 * also at addresses that nothing serves. Programs get problem details there.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addPerson } from '../support/people.ts';
import { Browser } from './browser.ts';
import { type Answer, request } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let gateway: SharedGateway;
let owner: Browser;
let nobody: Browser;
beforeAll(async () => {
  gateway = await openSharedGateway();
  const { baseUrl } = gateway.server;
  owner = new Browser(baseUrl);
  nobody = new Browser(baseUrl);
  await owner.signIn(gateway.owner.email, gateway.owner.password);
});
afterAll(() => gateway.close());

const visit = (browser: Browser, path: string): Promise<Answer> =>
  browser.send('GET', path, { headers: PAGE });
const hasNavigation = ({ text }: Answer): boolean =>
  /href="\/app\/incidents"[^>]*>Findings</.test(text) && text.includes('Sign out');

describe('signed in', () => {
  test.each([
    ['/app/findings/0000', 404],
    ['/app/runs/00000000000000000000000000000000', 404],
    ['/app/nothing', 404],
    ['/app/keys/1/revoke', 405],
    ['/app/audit?cursor=x', 400],
    ['/app/findings?severity=huge', 400],
  ])('%s is a page with the navigation', async (path, status) => {
    const answer = await visit(owner, path);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(hasNavigation(answer)).toBe(true);
    expect(answer.text).toContain('class="refusal"');
  });

  test('what a member may not see keeps the navigation', async () => {
    const { token } = await addPerson(gateway.database, gateway.workspace.id, 'member');
    const member = new Browser(gateway.server.baseUrl, token);
    const answer = await visit(member, '/app/audit');
    expect(answer.status).toBe(403);
    expect(hasNavigation(answer)).toBe(true);
  });

  test.each([
    ['/app/findings?severity=huge&q=stolen+key', ['value="huge" selected', 'value="stolen key"']],
    ['/app/findings?since=yesterday', ['name="since" value="yesterday"', 'since: must be an ISO']],
    ['/app/findings?run_id=%3Cb%3E', ['value="&lt;b&gt;"']],
    ['/app/runs?state=odd&agent=planner', ['value="odd" selected', 'value="planner"']],
  ])('a filter that is not valid is shown again: %s', async (path, texts) => {
    const answer = await visit(owner, path);
    expect(answer.status).toBe(400);
    expect(hasNavigation(answer)).toBe(true);
    expect(answer.text).toContain('<button>Filter</button>');
    for (const text of texts) expect(answer.text).toContain(text);
  });
});

describe('an address that nothing serves', () => {
  test.each([
    ['/docs/', '/docs'],
    ['/docs/search/?q=key', '/docs/search?q=key'],
    ['/platform/v1/atr/rules/', '/platform/v1/atr/rules'],
    ['/v1/traces/', '/v1/traces'],
  ])('%s is %s: a slash at the end makes no difference', async (path, same) => {
    const [one, other] = await Promise.all([path, same].map((each) => visit(nobody, each)));
    expect([one?.status, one?.text]).toEqual([other?.status, other?.text]);
  });

  test.each(['//evil.test/', '/%5Cevil.test//', '/docs//'])('%s leads nowhere', async (path) => {
    const answer = await visit(nobody, path);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('location')).toBeNull();
  });

  test.each(['/nothing', '/docs/nothing'])('%s is a page', async (path) => {
    const answer = await visit(nobody, path);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer.text).toContain('href="/docs">Docs</a>');
  });

  test('under /app without a session: the sign-in, and back', async () => {
    const answer = await visit(nobody, '/app/nothing?x=1');
    expect(answer.headers.get('location')).toBe('/app/sign-in?next=%2Fapp%2Fnothing%3Fx%3D1');
  });

  test.each(['/nothing', '/docs/nothing/', '/app/nothing'])(
    '%s is problem details for a program',
    async (path) => {
      const { baseUrl, observeUrl } = gateway.server;
      for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }]) {
        const answer = await request(`${baseUrl}${path}`, { headers });
        expect(answer.status).toBe(404);
        expect(answer.headers.get('content-type')).toBe('application/problem+json');
      }
      // The observe address has no pages.
      const observed = await request(`${observeUrl}${path}`, { headers: PAGE });
      expect(observed.headers.get('content-type')).toBe('application/problem+json');
    },
  );

  test('a wrong method at an API path stays problem details, and names the methods', async () => {
    const answer = await visit(nobody, '/platform/v1/ingest/otel');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
});
