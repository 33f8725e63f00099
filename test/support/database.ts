/**
 * A database of its own for a test file, on the server that test/support/global-database.ts runs, or on a
 * Citus cluster (global-citus.ts).
 *
 * Never hands out the shared database itself: tests must not see each other's rows.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

import { createOnCluster, dropFromCluster } from './citus.ts';

export interface TestDatabase {
  readonly url: string;
  /** usable as another one's `template` once nobody is connected to it */
  readonly name: string;
  /** Ends the remaining connections and removes the database. */
  drop(): Promise<void>;
}

/**
 * Makes a fresh database.
 *
 * @param options.template name of a database to copy, e.g. a migrated one; default: an empty one
 */
export async function createTestDatabase(
  options: { readonly template?: string } = {},
): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  if (inject('placement') === 'distributed') {
    const isMigrated = options.template !== undefined;
    const url = await createOnCluster(inject('databaseUrl'), name, isMigrated);
    return { url, name, drop: () => dropFromCluster(inject('databaseUrl'), name) };
  }
  // Copying files takes half the CPU time of copying pages through the log.
  const template = options.template ?? 'template0';
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    drop: () => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
