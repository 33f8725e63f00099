/**
 * Global set-up of the end-to-end project: one server with the default settings of tests, over a
 * database of its own. Files that need no other settings share it, each in a workspace of its own
 * (test/e2e/shared-gateway.ts): a server of one's own costs over a second of CPU time.
 */
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { createDatabase } from '../../src/db/database.ts';
import { createOnCluster, dropFromCluster } from './citus.ts';
import { startServer } from './server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    sharedServer: SharedServer;
  }
}

export interface SharedServer {
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly metricsUrl: string;
  readonly pid: number;
  readonly databaseUrl: string;
}

const NAME = 'shared_server';

/** Creates a database with the whole schema. @returns its url, and what removes it */
async function createOwn({ databaseUrl, migratedTemplate, placement }: ProvidedContext) {
  if (placement === 'distributed') {
    // Several runs may use a cluster at the same time.
    const name = `${NAME}_${process.pid}`;
    const url = await createOnCluster(databaseUrl, name, true);
    return { url, drop: () => dropFromCluster(databaseUrl, name) };
  }
  const maintenance = createDatabase(databaseUrl, 1, { connectionLost: () => undefined });
  // A pool's own `query` is a transaction.
  const connection = await maintenance.connect();
  await connection.query(`CREATE DATABASE ${NAME} TEMPLATE ${migratedTemplate}`);
  connection.release();
  await maintenance.end();
  const url = new URL(databaseUrl);
  url.pathname = `/${NAME}`;
  // The run's PostgreSQL ends with it.
  return { url: url.href, drop: async () => undefined };
}

/**
 * Runs after global-database.ts or citus.ts.
 *
 * @returns the tear-down: stops the server, which must end as it does after any SIGTERM
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const { url, drop } = await createOwn(project.getProvidedContext());
  const server = await startServer({ DATABASE_URL: url });
  const { baseUrl, observeUrl, metricsUrl, pid } = server;
  project.provide('sharedServer', { baseUrl, observeUrl, metricsUrl, pid, databaseUrl: url });
  return async () => {
    const { code } = await server.stop();
    await drop();
    if (code !== 0) throw new Error(`the shared server ended with ${code}\n${server.stderr()}`);
  };
}
