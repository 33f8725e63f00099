/** The url of sentinels, and what is none. */
import { expect, test } from 'vitest';

import { parseSentinelUrl } from '../src/redis-url.ts';

test('sentinels, the name of their master, a login and a database', () => {
  expect(parseSentinelUrl('redis+sentinel://me:p%40w@one:1,two,[::1]:3/limits/2')).toEqual({
    sentinels: [
      { host: 'one', port: 1 },
      { host: 'two', port: 26_379 },
      { host: '::1', port: 3 },
    ],
    name: 'limits',
    username: 'me',
    password: 'p@w',
    db: 2,
  });
  expect(parseSentinelUrl('redis+sentinel://one/limits')).toEqual({
    sentinels: [{ host: 'one', port: 26_379 }],
    name: 'limits',
    db: 0,
  });
});

test.each([
  'redis://one:6379',
  'redis+sentinel://one',
  'redis+sentinel://one,/limits',
  'redis+sentinel://one:99999/limits',
  `redis+sentinel://${'a,'.repeat(16)}a/limits`,
])('%s is none', (text) => {
  expect(parseSentinelUrl(text)).toBeNull();
});
