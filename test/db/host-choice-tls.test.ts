/**
 * Several hosts of one database over TLS: `sslmode` and `sslrootcert` apply to all of them, and the
 * certificate of each is compared with its own name.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';

import { createDatabase, type Database, type DatabasePool } from '../../src/db/database.ts';
import {
  type Authority,
  openAuthority,
  startTlsPostgres,
  type TlsPostgres,
} from '../support/tls-postgres.ts';

let authority: Authority;
let other: Authority;
/** with certificates for `localhost` and for 127.0.0.1 */
let named: TlsPostgres;
let numbered: TlsPostgres;

beforeAll(async () => {
  authority = await openAuthority();
  authority.sign('named', 'DNS:localhost');
  authority.sign('numbered', 'IP:127.0.0.1');
  [named, numbered, other] = await Promise.all([
    startTlsPostgres(authority, 'named'),
    startTlsPostgres(authority, 'numbered'),
    openAuthority(),
  ]);
});
afterAll(async () => {
  await Promise.all([named.stop(), numbered.stop()]);
  await Promise.all([authority.close(), other.close()]);
});
beforeEach(() => Promise.all([named.setReadOnly(false), numbered.setReadOnly(false)]));

/** Hosts with these names for `named` and `numbered`. */
function open(first: string, second: string, tls: Record<string, string>): DatabasePool {
  const hosts = `${first}:${named.port},${second}:${numbered.port}`;
  const parameters = new URLSearchParams(tls);
  const login = `sluice:${named.password}`;
  return createDatabase(`postgres://${login}@${hosts}/sluice?${parameters}`, 2, {
    connectionLost: () => undefined,
  });
}

const root = (): string => authority.certificate;
const verified = (sslrootcert: string) => ({ sslmode: 'verify-full', sslrootcert });

const WHERE = `SELECT inet_server_port() AS port, ssl
  FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;

/** Where a new connection leads, and whether it is encrypted. */
async function whereTo(database: Database): Promise<unknown> {
  const connection = await database.connect();
  try {
    return (await connection.query(WHERE)).rows[0];
  } finally {
    connection.release(true);
  }
}

describe('verify-full', () => {
  test('each host by its own name, a name or an address, whichever takes writes', async () => {
    const database = open('localhost', '127.0.0.1', verified(root()));
    await named.setReadOnly(true);
    expect(await whereTo(database)).toEqual({ port: numbered.port, ssl: true });
    await Promise.all([named.setReadOnly(false), numbered.setReadOnly(true)]);
    await expect(whereTo(database)).rejects.toThrow('is read-only');
    expect(await whereTo(database)).toEqual({ port: named.port, ssl: true });
    await Promise.all([named.setReadOnly(true), numbered.setReadOnly(false)]);
    await expect(whereTo(database)).rejects.toThrow('is read-only');
    expect(await whereTo(database)).toEqual({ port: numbered.port, ssl: true });
    await database.end();
  });

  test('a host with the certificate of another name is not used, the other one is', async () => {
    const database = open('127.0.0.1', '127.0.0.1', verified(root()));
    expect(await whereTo(database)).toEqual({ port: numbered.port, ssl: true });
    await numbered.setReadOnly(true);
    await expect(whereTo(database)).rejects.toThrow('is read-only');
    await expect(whereTo(database)).rejects.toThrow(
      /^no host can be used: .*IP: 127.0.0.1 is not in the cert's list.*; .* is read-only$/,
    );
    await database.end();
  });

  test('no host with the certificate of another authority is used', async () => {
    const database = open('localhost', '127.0.0.1', verified(other.certificate));
    await expect(whereTo(database)).rejects.toThrow(
      /^no host can be used: .*verif.*certificate.*; .*verif.*certificate/i,
    );
    expect(database.totalCount).toBe(0);
    await database.end();
  });
});

test('require compares names too; as libpq means it, it only encrypts', async () => {
  const strict = open('127.0.0.1', 'localhost', { sslmode: 'require', sslrootcert: root() });
  await expect(whereTo(strict)).rejects.toThrow(/altnames: IP: .*; .*altnames: Host: localhost/);
  await strict.end();
  const loose = open('127.0.0.1', 'localhost', { sslmode: 'require', uselibpqcompat: 'true' });
  expect(await whereTo(loose)).toMatchObject({ ssl: true });
  await loose.end();
});

test('a host without TLS is not used when it is required', async () => {
  const plain = new URL(inject('databaseUrl')).port;
  const database = createDatabase(
    `postgres://tester:x@127.0.0.1:${plain},127.0.0.1:${plain}/sluice?sslmode=verify-full`,
    2,
    { connectionLost: () => undefined },
  );
  await expect(whereTo(database)).rejects.toThrow(
    'no host can be used: The server does not support SSL connections; ' +
      'The server does not support SSL connections',
  );
  await database.end();
});
