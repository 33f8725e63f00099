/** Urls of one host and of several, in libpq's forms, and the message for an invalid one. */
import pg from 'pg';
import { describe, expect, test } from 'vitest';

import { type DatabaseHosts, parseDatabaseUrl } from '../src/database-url.ts';

function parsed(text: string): DatabaseHosts {
  const hosts = parseDatabaseUrl(text);
  if (typeof hosts === 'string') throw new Error(hosts);
  return hosts;
}

/** Host and port as the client understands them. */
const addresses = (text: string): unknown[] =>
  parsed(text).urls.map((connectionString) => {
    const { host, port, user, database } = new pg.Client({ connectionString });
    return [host, port, user, database];
  });

describe('hosts', () => {
  test.each<[string, (readonly [string, number])[]]>([
    ['postgres://me:pw@db.test:5433/name', [['db.test', 5433]]],
    [
      'postgresql://me:pw@one,two:5433/name',
      [
        ['one', 5432],
        ['two', 5433],
      ],
    ],
    [
      'postgres://me:pw@10.0.0.5:1,[2001:db8::1]:2/name',
      [
        ['10.0.0.5', 1],
        ['2001:db8::1', 2],
      ],
    ],
    [
      'postgres://me:pw@%2Frun%2Fpg,[::1]/name',
      [
        ['/run/pg', 5432],
        ['::1', 5432],
      ],
    ],
    [
      'postgres://me:pw@/name?host=one,::1,/run/pg&port=1,2,3',
      [
        ['one', 1],
        ['::1', 2],
        ['/run/pg', 3],
      ],
    ],
    [
      'postgres://me:pw@/name?host=one,two&port=5433',
      [
        ['one', 5433],
        ['two', 5433],
      ],
    ],
  ])('of %s', (text, hosts) => {
    expect(addresses(text)).toEqual(hosts.map((host) => [...host, 'me', 'name']));
  });

  test('keep the other parameters, and not the choice of a host', () => {
    const { urls } = parsed('postgres://a,b/name?sslmode=require&target_session_attrs=primary');
    expect(urls).toEqual(['a', 'b'].map((host) => `postgres://${host}/name?sslmode=require`));
  });

  test('are shown without the password', () => {
    expect(parsed('postgres://me:secret@a:1,%2Frun%2Fpg/name').where).toBe('a:1, /run/pg/name');
  });
});

test.each([
  ['postgres://a/name', null],
  ['postgres://a,b/name', 'read-write'],
  ['postgres://a/name?target_session_attrs=primary', 'primary'],
  ['postgres://a,b/name?target_session_attrs=any', 'any'],
])('%s: which server is taken', (text, target) => {
  expect(parsed(text).target).toBe(target);
});

test.each([
  ['mysql://me:secret@a/name', /^must be a URL that starts with postgres:/],
  ['postgres://me:secret@a:1:2,b/name', /^must have hosts of the form/],
  ['postgres://me:secret@a,b/name?target_session_attrs=standby', /must be one of read-write/],
  [`postgres://me:secret@${'a,'.repeat(16)}a/name`, /16 hosts at most/],
])('%s is refused, without its password', (text, problem) => {
  const said = parseDatabaseUrl(text);
  expect(said).toMatch(problem);
  expect(said).not.toContain('secret');
});
