/**
 * Global set-up of the projects that need PostgreSQL: one embedded server for the whole run, in a
 * folder of its own. initdb runs once: the cluster is kept, and copied for this server and for tests
 * that start one (embedded-lab.ts). Tests log in as a superuser, which the product does not have,
 * because they create databases and roles.
 *
 * Never shared between runs: the first to end would stop the other's server. A run that was killed
 * leaves its server behind; the next run clears it away.
 */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { createDatabase } from '../../src/db/database.ts';
import { ensureCluster, readPassword } from '../../src/db/embedded/cluster.ts';
import { startEmbedded } from '../../src/db/embedded/connect.ts';
import { clusterOf, prepareInstallation } from '../../src/db/embedded/installation.ts';
import { processIdentity } from '../../src/db/embedded/process.ts';
import { runAlone } from '../../src/db/embedded/roles.ts';
import { stopServer } from '../../src/db/embedded/server.ts';
import { migrate } from '../../src/db/migrate.ts';
import { announcePooler } from './child-settings.ts';
import { CLUSTER_ROOTS, clusterPrefix, copyCluster } from './cluster.ts';
import { resumeServer } from './embedded-lab.ts';
import { startPgBouncer } from './pgbouncer.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** of the run's `sluice` database; tests take databases of their own beside it */
    databaseUrl: string;
    /** name of a database with the whole schema, for `createTestDatabase` */
    migratedTemplate: string;
    /** a DATA_DIR whose cluster is as the first start made it, and never started */
    clusterFolder: string;
  }
}

interface Run {
  readonly provided: Pick<ProvidedContext, 'databaseUrl' | 'migratedTemplate' | 'clusterFolder'>;
  readonly close: () => Promise<void>;
}

const TESTER = 'tester';
const MIGRATED = 'migrated';
/** Two servers with their threads, and the tests' own pools. */
const CONNECTIONS_MAX = 200;
/** The run's PostgreSQL need not survive the machine; what must is tested with clusters of its own. */
const FORGETFUL = ['fsync = off', 'full_page_writes = off', "max_wal_size = '1GB'"];
const silent = { info: () => undefined, warn: () => undefined };

/** Each project loads this module for itself; they share one server. */
const shared = globalThis as typeof globalThis & {
  sluiceTestRun?: { readonly run: Promise<Run>; projects: number };
};

/** @returns the tear-down: the last project stops the server and removes its folder */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shared.sluiceTestRun ??= { run: openRun(), projects: 0 };
  const entry = shared.sluiceTestRun;
  entry.projects += 1;
  const { provided, close } = await entry.run;
  project.provide('placement', 'local');
  for (const [name, value] of Object.entries(provided)) {
    project.provide(name as keyof ProvidedContext, value);
  }
  return async () => {
    entry.projects -= 1;
    if (entry.projects > 0) return;
    delete shared.sluiceTestRun;
    await close();
  };
}

async function openRun(): Promise<Run> {
  await clearAwayDeadRuns();
  const folder = await mkdtemp(clusterPrefix());
  // When root runs the tests, the server runs as another user and must be able to pass.
  await chmod(folder, 0o755);
  const clusterFolder = join(folder, 'kept');
  await ensureCluster({ ...(await prepareInstallation(clusterFolder)), lockFd: null });
  await copyCluster(clusterFolder, folder);
  await makeTester(folder);
  const server = await startEmbedded({
    dataDir: folder,
    log: silent,
    connectionsMax: CONNECTIONS_MAX,
  });
  const url = new URL(server.url);
  url.username = TESTER;
  await prepareServer(url);
  const pooler = process.env.TEST_POOLER === '1' ? await startPgBouncer(url.href) : null;
  if (pooler !== null) announcePooler(url.href, pooler.port);
  return {
    provided: { databaseUrl: url.href, migratedTemplate: MIGRATED, clusterFolder },
    close: async () => {
      await pooler?.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A superuser with the password of the ordinary role. */
async function makeTester(dataDir: string): Promise<void> {
  const place = { ...(await prepareInstallation(dataDir)), lockFd: null };
  const password = await readPassword(place.home);
  await runAlone(place, clusterOf(place.home), 'postgres', [
    `CREATE ROLE ${TESTER} LOGIN SUPERUSER PASSWORD '${password}';`,
  ]);
}

/**
 * Sets what nobody's data needs, and copies a database with the whole schema: it can be a template
 * while nobody is connected to it.
 */
async function prepareServer(url: URL): Promise<void> {
  const open = (name: string) => {
    const { href } = new URL(`/${name}${url.search}`, url);
    return createDatabase(href, 1, { connectionLost: () => undefined });
  };
  const maintenance = open('sluice');
  // A pool's own `query` is a transaction.
  const connection = await maintenance.connect();
  for (const setting of FORGETFUL) await connection.query(`ALTER SYSTEM SET ${setting}`);
  await connection.query('SELECT pg_reload_conf()');
  await connection.query(`CREATE DATABASE ${MIGRATED} TEMPLATE template0`);
  connection.release();
  await maintenance.end();
  const template = open(MIGRATED);
  await migrate(template);
  await template.end();
}

/** Folders are named for the process of their run. */
async function clearAwayDeadRuns(): Promise<void> {
  for (const root of CLUSTER_ROOTS) {
    for (const name of await readdir(root)) {
      const pid = /^sluice-test-(\d+)-\w+$/.exec(name)?.[1];
      if (pid === undefined || (await processIdentity(Number(pid))) !== null) continue;
      const dataDir = join(root, name);
      const home = join(dataDir, 'postgres');
      await resumeServer(home);
      await stopServer(home);
      await rm(dataDir, { recursive: true, force: true });
    }
  }
}
