/** How each listener is reached, according to the settings. */
import { expect, test } from 'vitest';
import { listenersOf } from '../support/served-routes.ts';

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
