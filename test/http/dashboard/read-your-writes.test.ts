/** Which database a page of the dashboard reads: what the browser's cookies say. */
import { expect, test } from 'vitest';
import { readYourWrites } from '../../../src/http/dashboard/app-routes.ts';
import { createCookieJar } from '../../../src/http/dashboard/sign-in/session-cookie.ts';
import type { Exchange } from '../../../src/http/transport/exchange.ts';
import type { Route } from '../../../src/http/transport/router.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
const jar = createCookieJar('sluice', false);

function readsOf(cookie: string | null): string[] {
  const reads: string[] = [];
  const routes = (from: string): Route[] =>
    METHODS.map((method) => ({
      method,
      path: '/app',
      handler: () => void reads.push(`${method} ${from}`),
    }));
  const exchange = { browser: cookie === null ? null : { cookie } } as Exchange;
  for (const { handler } of readYourWrites(routes('primary'), routes('replica'), jar)) {
    void handler(exchange, {});
  }
  return reads;
}

const CHANGES = ['POST primary', 'PUT primary', 'DELETE primary'];
const [pair = ''] = jar.writeChanged(10).split(';');

test('pages read the replica, changes the primary', () => {
  expect(readsOf('sluice_session=x')).toEqual(['GET replica', ...CHANGES]);
});

test('after a change its browser reads the primary', () => {
  expect(readsOf(`sluice_session=x; ${pair}`)).toEqual(['GET primary', ...CHANGES]);
});

test('what is no browser reads the primary', () => {
  expect(readsOf(null)).toEqual(['GET primary', ...CHANGES]);
});

test('the cookie ends by itself, and only this server receives it', () => {
  expect(jar.writeChanged(10)).toBe(
    'sluice_changed=1; Path=/; Max-Age=10; HttpOnly; SameSite=Strict',
  );
});

test('lists of routes that differ are refused', () => {
  const route = (path: string): Route => ({ method: 'GET', path, handler: () => {} });
  expect(() => readYourWrites([route('/a')], [route('/b')], jar)).toThrow('/a and /b differ');
});
