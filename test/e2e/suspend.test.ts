/**
 * A machine that slept: its wall clock and PostgreSQL's jump, and the clock by which the process counts
 * time does not. What is acknowledged afterwards is stored on the day of its arrival, and attacks in it
 * are found.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { readPassword } from '../../src/db/embedded/cluster.ts';
import { clusterOf, prepareInstallation } from '../../src/db/embedded/installation.ts';
import { asAccount, CHILD_ENVIRONMENT } from '../../src/db/embedded/process.ts';
import { DATABASE, ROLE } from '../../src/db/embedded/roles.ts';
import { clusterPrefix, copyCluster } from '../support/cluster.ts';
import { faketimePath, mustRunAll } from '../support/programs.ts';
import { ATTACK_RULE } from '../support/rows.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { attackRun } from './attack.ts';
import { openEyes, post, traceBody } from './gateway.ts';

const STARTS_WITHIN_MS = 60_000;
const EMPTY_CLUSTER = { port: 0, listen_addresses: '127.0.0.1', unix_socket_directories: '' };

/**
 * A machine that can be suspended: a PostgreSQL, and the settings for a server, whose wall clocks jump
 * together while their monotonic clocks do not move, as after a closed lid or a paused VM.
 */
interface SuspendedMachine {
  readonly databaseUrl: string;
  /** for processes of this machine */
  readonly environment: Readonly<Record<string, string>>;
  /** Lets the machine sleep: its wall clock is that far ahead afterwards. */
  readonly sleep: (days: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

async function openSuspendedMachine(): Promise<SuspendedMachine> {
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

const ATTACKS = 4;
const canSuspend = faketimePath !== null || mustRunAll;

let machine: SuspendedMachine;
let server: TestServer;
let database: Database;

beforeEach(async () => {
  if (!canSuspend) return;
  machine = await openSuspendedMachine();
  const { databaseUrl: DATABASE_URL, environment } = machine;
  server = await startServer({ DATABASE_URL, RETENTION_DAYS: '1', ...environment });
  database = openEyes(DATABASE_URL);
});
afterEach(async () => {
  if (!canSuspend) return;
  await server.stop();
  await database.end();
  await machine.close();
});

/** Sends it as exporters do, again and again until it is acknowledged. */
async function send(spans: readonly unknown[]): Promise<void> {
  const { observeUrl, firstKeys } = server;
  const isTaken = async (): Promise<boolean> => {
    const { status } = await post(
      `${observeUrl}/v1/traces`,
      firstKeys?.agent ?? '',
      traceBody(spans),
    );
    expect([200, 503]).toContain(status);
    return status === 200;
  };
  await waitFor(isTaken, { withinMs: 30_000, what: 'the attack is acknowledged' });
}

test.runIf(canSuspend).each([1, 3])(
  'after a sleep of %d days: attacks are found, in rows of the day of their arrival',
  async (days) => {
    const sent: string[] = [];
    const attack = async (): Promise<void> => {
      const { traceId, spans } = attackRun();
      await send(spans);
      sent.push(traceId);
    };
    await attack();
    await machine.sleep(days);
    for (let count = 1; count < ATTACKS; count += 1) await attack();
    await waitFor(
      async () => {
        const { rows } = await database.query("SELECT FROM runs WHERE evaluation = 'evaluated'");
        return rows.length === ATTACKS;
      },
      { withinMs: 60_000, what: 'all runs are evaluated' },
    );
    const { rows: found } = await database.query<{ run: string }>(
      `SELECT replace(run_id::text, '-', '') AS run FROM findings WHERE rule_id = $1`,
      [ATTACK_RULE],
    );
    expect(found.map(({ run }) => run).sort()).toEqual(sent.sort());
    const { rows: late } = await database.query(
      `SELECT arrived_on, first_arrival_at FROM hot_places s
         JOIN runs r ON r.workspace_id = s.workspace_id AND r.run_id = s.run_id
        WHERE arrived_on NOT IN (((first_arrival_at - interval '2 minutes') AT TIME ZONE 'UTC')::date,
                                 (first_arrival_at AT TIME ZONE 'UTC')::date)`,
    );
    expect(late).toEqual([]);
  },
);
