/**
 * A database with the whole schema, a pool of connections to it, and the ways to look into it.
 *
 * Never shared between test files: each opens its own and closes it.
 */
import { inject } from 'vitest';

import { createDatabase, type DatabasePool } from '../../src/db/database.ts';
import { createTestDatabase } from './database.ts';
import { waitFor } from './wait-for.ts';

export interface MigratedDatabase {
  readonly database: DatabasePool;
  readonly url: string;
  /** connections that the server ended while they were idle */
  readonly lost: unknown[];
  /** the rows of a query, in the project's own value forms */
  rows(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Outside a transaction, which a pool's own `query` is. */
  vacuum(tables: string): Promise<void>;
  /** Resolves when so many statements wait for another transaction's lock; default: one. */
  blocked(statements?: number): Promise<void>;
  /** Ends the pool and removes the database. */
  close(): Promise<void>;
}

/** Opens a new database with the whole schema, copied from the run's template. */
export async function openMigratedDatabase(): Promise<MigratedDatabase> {
  const { url, drop } = await createTestDatabase({ template: inject('migratedTemplate') });
  const lost: unknown[] = [];
  const database = createDatabase(url, 10, { connectionLost: (error) => lost.push(error) });
  return {
    database,
    url,
    lost,
    rows: async (sql, values = []) => (await database.query(sql, [...values])).rows,
    vacuum: async (tables) => {
      const connection = await database.connect();
      await connection.query(`VACUUM (ANALYZE) ${tables}`);
      connection.release();
    },
    blocked: async (statements = 1) => {
      const waiting = `SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await waitFor(async () => (await database.query(waiting)).rows.length >= statements, {
        withinMs: 60_000,
        what: 'a statement that waits for a lock',
      });
    },
    close: async () => {
      await database.end();
      await drop();
    },
  };
}
