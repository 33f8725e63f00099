/** Settings that work and contradict each other. */
import { expect, test } from 'vitest';

import { invalidSettings, settingChecks } from '../../../src/cli/doctor/settings-checks.ts';
import { readConfig } from '../../../src/config/config.ts';

const warned = (settings: Record<string, string>): string[] =>
  settingChecks(readConfig(settings)).map(({ name, state }) => `${name}: ${state}`);

test('the defaults are in order', () => {
  expect(warned({})).toEqual(['All settings: ok']);
});

test.each([
  [{ BASE_URL: 'https://sluice.example' }, 'TRUSTED_PROXY_HOPS'],
  [{ BASE_URL: 'http://sluice.example' }, 'BASE_URL'],
  [{ DATABASE_URL: 'postgres://db/x', REDIS_URL: 'redis://r' }, 'BASE_URL'],
  [{ ADMIN_HOST: '0.0.0.0' }, 'ADMIN_HOST'],
  [{ RETENTION_DAYS: '0' }, 'RETENTION_DAYS'],
  [{ OAUTH_GITHUB_CLIENT_ID: 'x' }, 'OAUTH_GITHUB_CLIENT_SECRET'],
])('%j warns of %s', (settings, name) => {
  expect(warned(settings)).toEqual([`${name}: warning`]);
});

test('a proxy that is declared is no contradiction', () => {
  expect(warned({ BASE_URL: 'https://sluice.example', TRUSTED_PROXY_HOPS: '1' })).toEqual([
    'All settings: ok',
  ]);
});

test('each invalid setting is a problem under its name', () => {
  const lines = ['PORT must be a number', 'RUN_SETTLE_MS must not exceed RUN_TIMEOUT_MS'];
  expect(invalidSettings(lines).map(({ name, state }) => [name, state])).toEqual([
    ['PORT', 'problem'],
    ['RUN_SETTLE_MS', 'problem'],
  ]);
});
