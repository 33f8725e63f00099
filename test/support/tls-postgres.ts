/**
 * PostgreSQL servers that speak TLS, each with a certificate of its own name, from one authority that
 * is made for them.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';

import { readPassword } from '../../src/db/embedded/cluster.ts';
import { clusterOf, prepareInstallation } from '../../src/db/embedded/installation.ts';
import { asAccount, CHILD_ENVIRONMENT } from '../../src/db/embedded/process.ts';
import { DATABASE, ROLE } from '../../src/db/embedded/roles.ts';
import { copyCluster } from './cluster.ts';
import { findFreePort } from './sockets.ts';
import { waitFor } from './wait-for.ts';

const STARTS_WITHIN_MS = 60_000;
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

function openssl(folder: string, args: readonly string[]): void {
  execFileSync('openssl', ['req', '-x509', ...KEY, ...args], { cwd: folder, stdio: 'pipe' });
}

/** Certificate authorities and what they sign, in a temporary folder. */
export interface Authority {
  readonly folder: string;
  /** path of its own certificate, as `sslrootcert` takes it */
  readonly certificate: string;
  /** Makes `<name>.key` and `<name>.crt`. @param subject as `DNS:localhost` or `IP:127.0.0.1` */
  readonly sign: (name: string, subject: string) => void;
  readonly close: () => Promise<void>;
}

export async function openAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tls-'));
  // When root runs the tests, the servers run as another user and must be able to pass.
  await chmod(folder, 0o755);
  openssl(folder, ['-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=an authority']);
  return {
    folder,
    certificate: join(folder, 'ca.crt'),
    sign: (name, subject) =>
      openssl(folder, [
        ...['-CA', 'ca.crt', '-CAkey', 'ca.key', '-subj', `/CN=${name}`],
        ...['-addext', `subjectAltName=${subject}`, '-addext', 'basicConstraints=CA:FALSE'],
        ...['-keyout', `${name}.key`, '-out', `${name}.crt`],
      ]),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface TlsPostgres {
  readonly port: number;
  readonly password: string;
  /** Whether it refuses writes, from the next connection on. */
  readonly setReadOnly: (isReadOnly: boolean) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a server on 127.0.0.1 and ::1, as far as the machine has them.
 *
 * @param name of the certificate, and of the server's folder
 */
export async function startTlsPostgres(authority: Authority, name: string): Promise<TlsPostgres> {
  const folder = join(authority.folder, name);
  await mkdir(folder);
  await copyCluster(inject('clusterFolder'), folder);
  const { home, runtime, account } = await prepareInstallation(folder);
  const password = await readPassword(home);
  const key = join(authority.folder, `${name}.key`);
  if (account !== null) await chown(key, account.uid, account.gid);
  const port = await findFreePort();
  const settings = {
    port,
    listen_addresses: 'localhost',
    unix_socket_directories: '',
    fsync: 'off',
    ssl: 'on',
    ssl_key_file: key,
    ssl_cert_file: join(authority.folder, `${name}.crt`),
  };
  const args = Object.entries(settings).flatMap(([one, value]) => ['-c', `${one}=${value}`]);
  const child = spawn(runtime.postgres, ['-D', clusterOf(home), ...args], {
    ...asAccount(account),
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  const ask = async (sql: string): Promise<void> => {
    const client = new pg.Client({
      connectionString: `postgres://${ROLE}:${password}@127.0.0.1:${port}/${DATABASE}`,
      ssl: { rejectUnauthorized: false },
      options: '-c default_transaction_read_only=off',
    });
    client.on('error', () => {});
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  const isUp = (): Promise<boolean> =>
    ask('SELECT 1').then(
      () => true,
      () => false,
    );
  await waitFor(isUp, { withinMs: STARTS_WITHIN_MS, what: () => `${name} is up:\n${said}` });
  return {
    port,
    password,
    setReadOnly: (isReadOnly) =>
      ask(`ALTER DATABASE ${DATABASE} SET default_transaction_read_only = ${isReadOnly}`),
    stop: async () => {
      child.kill('SIGINT');
      await ended;
    },
  };
}
