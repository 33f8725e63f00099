/** No secret of the settings is left in a text, however it came there. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { createHiding, secretsOf } from '../../../src/cli/doctor/doctor-command.ts';

test('finds passwords of URLs, as written and decoded, and secrets by name', () => {
  const secrets = secretsOf({
    DATABASE_URL: 'postgres://ada:p%40ss@db/x?password=queried',
    DATABASE_DIRECT_URL: 'postgres://ada:direct@db/x',
    DATABASE_READ_URL: 'postgres://ada:standby@db/x',
    REDIS_URL: 'redis://:counted@redis',
    SMTP_URL: 'smtps://mail:letters@smtp.example',
    OAUTH_GITHUB_CLIENT_SECRET: 'of-github',
    SLUICE_API_KEY: 'sluice_live_x',
    PORT: '8080',
    BASE_URL: 'https://shown',
  });
  expect(secrets.toSorted()).toEqual(
    [
      ...['p%40ss', 'p@ss', 'queried', 'direct', 'standby', 'counted', 'letters'],
      ...['of-github', 'sluice_live_x'],
    ].toSorted(),
  );
});

test('a secret is hidden wherever a text has it', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9!*'(),;_-]{4,20}$/);
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (password, before, after) => {
      const hide = createHiding(secretsOf({ DATABASE_URL: `postgres://u:${password}@db/x` }));
      expect(hide(`${before}${password}${after}`)).not.toContain(password);
    }),
  );
});
