/** What people see of where messages go: never the path of a webhook, which may be a password. */
import { expect, test } from 'vitest';

import { shownTarget } from '../../src/model/alerts.ts';

test.each([
  ['https://hooks.slack.com/services/T0/B0/secret', 'https://hooks.slack.com/…'],
  ['https://hooks.slack.com\\services\\T0\\secret', 'https://hooks.slack.com/…'],
  ['HTTPS:\\\\Hooks.example\\secret', 'https://hooks.example/…'],
  ['https:hooks.example/secret', 'https://hooks.example/…'],
  ['https://hooks.example:8443?secret', 'https://hooks.example:8443/…'],
  ['https://hooks.example\t/sec\nret', 'https://hooks.example/…'],
])('of %j the origin', (url, shown) => {
  expect(shownTarget({ format: 'json', url })).toBe(shown);
});

test('of e-mail the addresses', () => {
  expect(shownTarget({ format: 'email', recipients: ['a@b.test', 'c@d.test'] })).toBe(
    'a@b.test, c@d.test',
  );
});
