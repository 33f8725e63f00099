/**
 * Global set-up of the projects that need PostgreSQL: one embedded server for the whole run, in a
 * folder of its own, its url provided to the tests as `databaseUrl`. They log in as a superuser,
 * which the product does not have, because they create databases and roles.
 *
 * Never shared between runs: the first to end would stop the other's server. A run that was killed
 * leaves its server behind; the next run clears it away.
 */
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureCluster, readPassword } from '../../src/db/embedded/cluster.ts';
import { startEmbedded } from '../../src/db/embedded/connect.ts';
import { clusterOf, preparePlace } from '../../src/db/embedded/place.ts';
import { processIdentity } from '../../src/db/embedded/process.ts';
import { runAlone } from '../../src/db/embedded/roles.ts';
import { stopServer } from '../../src/db/embedded/server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** of the run's `sluice` database; tests take databases of their own beside it */
    databaseUrl: string;
  }
}

const TESTER = 'tester';
const silent = { info: () => undefined, warn: () => undefined };

/** @returns the tear-down: stops the server and removes its folder */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await clearAwayDeadRuns();
  const dataDir = await mkdtemp(join(tmpdir(), `sluice-test-${process.pid}-`));
  // When root runs the tests, the server runs as another user and must be able to pass.
  await chmod(dataDir, 0o755);
  await makeTester(dataDir);
  const server = await startEmbedded({ dataDir, log: silent });
  const url = new URL(server.url);
  url.username = TESTER;
  project.provide('databaseUrl', url.href);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** A superuser with the password of the ordinary role. */
async function makeTester(dataDir: string): Promise<void> {
  const place = await preparePlace(dataDir);
  await ensureCluster(place);
  const password = await readPassword(place.home);
  await runAlone(place, clusterOf(place.home), 'postgres', [
    `CREATE ROLE ${TESTER} LOGIN SUPERUSER PASSWORD '${password}';`,
  ]);
}

/** Folders are named for the process of their run. */
async function clearAwayDeadRuns(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = /^sluice-test-(\d+)-\w+$/.exec(name)?.[1];
    if (pid === undefined || (await processIdentity(Number(pid))) !== null) continue;
    const dataDir = join(tmpdir(), name);
    await stopServer(join(dataDir, 'postgres'));
    await rm(dataDir, { recursive: true, force: true });
  }
}
