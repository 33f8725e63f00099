/**
 * A cluster as older versions created it (decision 0002): its only role `sluice` is the superuser,
 * and its server listens on a port and has no socket.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import {
  clusterOf,
  type Installation,
  passwordFileOf,
  prepareInstallation,
} from '../../src/db/embedded/installation.ts';
import { asAccount, CHILD_ENVIRONMENT, runProgram } from '../../src/db/embedded/process.ts';
import { findServer, stopServer } from '../../src/db/embedded/server.ts';
import { ask } from './embedded-lab.ts';
import { findFreePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

const PASSWORD = 'an-old-password';

/**
 * Runs initdb as the older version did; without its database, as when that start was interrupted.
 */
export async function makeOldCluster(
  dataDir: string,
  { withDatabase = true }: { readonly withDatabase?: boolean } = {},
): Promise<Installation> {
  const place = await prepareInstallation(dataDir);
  const { account, runtime, home } = place;
  const draft = join(home, 'cluster.draft');
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFileOf(home), `${PASSWORD}\n`, { mode: 0o600 });
  for (const path of [draft, passwordFileOf(home)]) {
    if (account !== null) await chown(path, account.uid, account.gid);
  }
  const initdb = await runProgram(
    runtime.initdb,
    ['-D', draft, '-U', 'sluice', `--pwfile=${passwordFileOf(home)}`, '--auth=scram-sha-256']
      .concat(['--encoding=UTF8', '--locale=C', '--no-sync'])
      .concat(['--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
    { account, timeoutMs: 60_000 },
  );
  if (initdb.code !== 0) throw new Error(initdb.output);
  if (account !== null)
    await chown(passwordFileOf(home), process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  await rename(draft, clusterOf(home));
  if (withDatabase) {
    await startOldServer(place, async (url) => {
      const maintenance = new URL(url);
      maintenance.pathname = '/postgres';
      await ask(maintenance.href, 'CREATE DATABASE sluice');
    });
  }
  return place;
}

/**
 * Runs `work` beside a server started as the older version started it, and stops that if it is
 * there still.
 */
export async function startOldServer(
  { home, runtime, account }: Installation,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const port = await findFreePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
  };
  const child = spawn(
    runtime.postgres,
    ['-D', clusterOf(home)].concat(
      Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ),
    { ...asAccount(account), cwd: '/', env: CHILD_ENVIRONMENT, stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  try {
    await waitFor(async () => (await findServer(home))?.status === 'ready', {
      withinMs: 60_000,
      what: 'the older server to be ready',
    });
    await work(`postgres://sluice:${PASSWORD}@127.0.0.1:${port}/sluice`);
  } finally {
    await stopServer(home);
    await ended;
  }
}
