/**
 * A machine that can be suspended: a PostgreSQL, and the settings for a server, whose wall clocks jump
 * together while their monotonic clocks stand still, as after a closed lid or a paused VM.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';

import { readPassword } from '../../src/db/embedded/cluster.ts';
import { clusterOf, prepareInstallation } from '../../src/db/embedded/installation.ts';
import { asAccount, CHILD_ENVIRONMENT } from '../../src/db/embedded/process.ts';
import { DATABASE, ROLE } from '../../src/db/embedded/roles.ts';
import { clusterPrefix } from './cluster-root.ts';
import { copyCluster } from './copy-cluster.ts';
import { findFreePort } from './free-port.ts';
import { faketimePath } from './programs.ts';
import { waitFor } from './wait-for.ts';

const STARTS_WITHIN_MS = 60_000;
const EMPTY_CLUSTER = { port: 0, listen_addresses: '127.0.0.1', unix_socket_directories: '' };

export interface SuspendedMachine {
  readonly databaseUrl: string;
  /** for processes of this machine */
  readonly environment: Readonly<Record<string, string>>;
  /** Lets the machine sleep: its wall clock is that far ahead afterwards. */
  readonly sleep: (days: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openSuspendedMachine(): Promise<SuspendedMachine> {
  const folder = await realpath(await mkdtemp(clusterPrefix()));
  // When root runs the tests, PostgreSQL runs as another user and must be able to pass.
  await chmod(folder, 0o755);
  const offset = join(folder, 'offset');
  const sleep = async (days: number): Promise<void> => {
    await writeFile(`${offset}.new`, `+${days}d\n`);
    await rename(`${offset}.new`, offset);
  };
  await sleep(0);
  const environment = {
    LD_PRELOAD: faketimePath ?? '',
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  await copyCluster(inject('clusterFolder'), folder);
  const { home, runtime, account } = await prepareInstallation(folder);
  const password = await readPassword(home);
  const port = await findFreePort();
  const settings = Object.entries({ ...EMPTY_CLUSTER, port, fsync: 'off' });
  const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(runtime.postgres, ['-D', clusterOf(home), ...args], {
    ...asAccount(account),
    cwd: '/',
    env: { ...CHILD_ENVIRONMENT, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  const databaseUrl = `postgres://${ROLE}:${password}@127.0.0.1:${port}/${DATABASE}`;
  const isUp = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  };
  await waitFor(isUp, { withinMs: STARTS_WITHIN_MS, what: () => `PostgreSQL is up:\n${said}` });
  return {
    databaseUrl,
    environment,
    sleep,
    close: async () => {
      child.kill('SIGINT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
