/** How each listener is reached, according to the settings. */
import { expect, test } from 'vitest';
import { listenersOf } from '../../support/served-routes.ts';

const behindTls = (settings: Record<string, string>) =>
  Object.fromEntries(
    listenersOf(settings).map(({ setting, isBehindTls = false }) => [setting, isBehindTls]),
  );

const HTTPS = 'https://sluice.test';

test.each([
  [{}, { PORT: false, OBSERVE_PORT: false, ADMIN_PORT: false }],
  [{ BASE_URL: HTTPS }, { PORT: true, OBSERVE_PORT: false, ADMIN_PORT: false }],
  [{ OBSERVE_URL: HTTPS }, { PORT: false, OBSERVE_PORT: true, ADMIN_PORT: false }],
  [
    { BASE_URL: HTTPS, OBSERVE_URL: 'https://otel.sluice.test', OBSERVE_PORT: '8080' },
    { PORT: true, ADMIN_PORT: false },
  ],
])('%j: behind TLS are %j', (settings, expected) => {
  expect(behindTls(settings)).toEqual(expected);
});

test('every listener but that of the operator counts the proxies before it', () => {
  const hops = listenersOf({ TRUSTED_PROXY_HOPS: '2' }).map(({ setting, trustedHops }) => [
    setting,
    trustedHops,
  ]);
  expect(hops).toEqual([
    ['PORT', 2],
    ['OBSERVE_PORT', 2],
    ['ADMIN_PORT', undefined],
  ]);
});

test('the listener of the operator has its own address', () => {
  const hosts = (settings: Record<string, string>) =>
    listenersOf(settings).map(({ setting, host }) => [setting, host]);
  expect(hosts({ HOST: '10.0.0.7' })).toEqual([
    ['PORT', '10.0.0.7'],
    ['OBSERVE_PORT', '10.0.0.7'],
    ['ADMIN_PORT', '127.0.0.1'],
  ]);
  expect(hosts({ ADMIN_HOST: '10.0.0.8' })).toContainEqual(['ADMIN_PORT', '10.0.0.8']);
});
