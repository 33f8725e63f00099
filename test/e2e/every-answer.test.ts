/**
 * Checks on every route of every listener, from the server's own table: every answer forbids
 * content sniffing, and control characters in a query or a path are answered 400, in the format of
 * the route's errors.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Route } from '../../src/http/transport/router.ts';
import { addCommandLine, addPerson } from '../support/people.ts';
import { routesOf } from '../support/served-routes.ts';
import { Browser, bodyOf } from './browser.ts';
import { type Answer, request } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

let gateway: SharedGateway;
let owner: Browser;
let commandLine: string;
let listeners: ReadonlyMap<string, { readonly url: string; readonly routes: readonly Route[] }>;

beforeAll(async () => {
  gateway = await openSharedGateway();
  const { baseUrl, observeUrl, metricsUrl } = gateway.server;
  listeners = new Map([
    ['PORT', { url: baseUrl, routes: routesOf('PORT') }],
    ['OBSERVE_PORT', { url: observeUrl, routes: routesOf('OBSERVE_PORT') }],
    ['ADMIN_PORT', { url: new URL(metricsUrl).origin, routes: routesOf('ADMIN_PORT') }],
  ]);
  owner = new Browser(baseUrl);
  await owner.signIn(gateway.owner.email, gateway.owner.password);
  const { id } = gateway.workspace;
  const person = await addPerson(gateway.database, id, 'owner');
  commandLine = await addCommandLine(gateway.database, id, person);
});
afterAll(() => gateway.close());

const filled = (path: string, value: string): string => path.replaceAll(/{\w+}/g, value);
const isForPeople = (path: string): boolean => /^\/app([/?]|$)/.test(path);

/**
 * Sends a request with the credential of the route's callers: a session, the token of a command line,
 * an agent key or a workspace key.
 */
async function ask(url: string, method: string, path: string): Promise<Answer> {
  if (isForPeople(path)) {
    const headers = { 'content-type': 'application/json' };
    return await new Browser(url, owner.token).send(method, path, { headers });
  }
  const sends = path.startsWith('/v1/') || path.includes('/ingest/');
  const { agent, workspace } = gateway.keys;
  const key = path.startsWith('/cli/') ? commandLine : sends ? agent : workspace;
  const headers = { authorization: `Bearer ${key}` };
  return await request(`${url}${path}`, { method, headers, redirect: 'manual' });
}

function nameless(answers: readonly (readonly [string, Answer])[]): string[] {
  return answers
    .filter(([, { headers }]) => headers.get('x-content-type-options') !== 'nosniff')
    .map(([name]) => name);
}

describe.each(['PORT', 'OBSERVE_PORT', 'ADMIN_PORT'])('%s', (setting) => {
  test('every answer says nosniff, once', async () => {
    const { url = '', routes = [] } = listeners.get(setting) ?? {};
    const answers: [string, Answer][] = [];
    for (const { method, path } of routes) {
      // Signing out would leave the rest without a session.
      if (path.endsWith('sign-out') || `${method} ${path}` === 'DELETE /cli/v1/session') continue;
      const name = filled(path, '0'.repeat(32));
      answers.push([`${method} ${path}`, await ask(url, method, name)]);
      answers.push([`PATCH ${path}`, await ask(url, 'PATCH', name)]);
      if (method === 'GET') answers.push([`HEAD ${path}`, await ask(url, 'HEAD', name)]);
    }
    answers.push(['nothing', await ask(url, 'GET', '/nothing')]);
    expect(nameless(answers)).toEqual([]);
    const statuses = new Set(answers.map(([, { status }]) => status));
    expect([...statuses]).toEqual(expect.arrayContaining([200, 404, 405]));
    expect([...statuses].filter((status) => status >= 500)).toEqual([]);
  });
});

test('streams, files and refusals without a credential say it too', async () => {
  const { baseUrl } = gateway.server;
  const paths = ['/app/findings.csv', '/platform/v1/risk-findings/ocsf', '/app/rules', '/app'];
  const answers = await Promise.all(
    paths.map(async (path) => [path, await ask(baseUrl, 'GET', path)] as const),
  );
  const strangers = await Promise.all(
    paths.map(async (path) => {
      const answer = await request(`${baseUrl}${path}`, { redirect: 'manual' });
      return [path, answer] as const;
    }),
  );
  expect(nameless([...answers, ...strangers])).toEqual([]);
});

const READS = routesOf('PORT').filter(
  ({ method, path }) => method === 'GET' && /^\/(?:app|platform|api|cli)(?:\/|$)/.test(path),
);

describe('a control character', () => {
  test.each(READS.map(({ path }) => path))('in the query of %s is 400', async (path) => {
    const { baseUrl } = gateway.server;
    const target = `${filled(path, '0'.repeat(32))}?service=%00&q=a%0Ab`;
    const answer = await ask(baseUrl, 'GET', target);
    expect(answer.status).toBe(400);
    if (/^\/app(?!\/api\/)/.test(path)) {
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      return;
    }
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(bodyOf(answer)).toMatchObject({
      type: '/docs/errors#bad_query',
      errors: [
        { path: 'service', message: 'must not contain control characters' },
        { path: 'q', message: 'must not contain control characters' },
      ],
    });
  });

  const withParameters = routesOf('PORT').filter(({ path }) => path.includes('{'));
  test.each(withParameters.map(({ method, path }) => [method, path] as const))(
    'in the path of %s %s is 400',
    async (method, path) => {
      const answer = await ask(gateway.server.baseUrl, method, filled(path, 'a%00b'));
      expect(answer.status).toBe(400);
    },
  );
});
