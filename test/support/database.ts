/**
 * Databases for test files, on the server that test/support/global-database.ts runs, or on a Citus cluster
 * (citus.ts): empty ones, ones with the whole schema, with a clock that the test sets, and ones that kill a connection.
 *
 * Never hands out the shared database itself: each file opens its own and closes it.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { createDatabase, type Database, type DatabasePool } from '../../src/db/database.ts';
import { createOnCluster, dropFromCluster } from './citus.ts';
import { waitFor } from './wait-for.ts';

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

export interface ClockedDatabase extends MigratedDatabase {
  /** Sets the time that `now()` returns: `START`, and so much later. @param later as `7 days -1 us` */
  setClock(...later: readonly string[]): Promise<void>;
}

/** The time when it is opened. */
export const START = '2026-03-02T10:00:00Z';

const INSTALL = `
  CREATE SCHEMA clock;
  CREATE TABLE clock.hand (at timestamptz NOT NULL);
  INSERT INTO clock.hand VALUES ('${START}');
  CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT at FROM clock.hand';
  DO $$
  DECLARE
    of record;
  BEGIN
    FOR of IN SELECT d.adrelid::regclass AS named, a.attname AS name
                FROM pg_attrdef d
                JOIN pg_class c ON c.oid = d.adrelid AND c.relnamespace = 'public'::regnamespace
                JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
               WHERE pg_get_expr(d.adbin, d.adrelid) = 'now()'
    LOOP
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT clock.now()', of.named, of.name);
    END LOOP;
    EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public',
                   current_database());
  END $$`;

/**
 * Opens a migrated database whose `now()` is what the test sets, at first `START`: a condition with a time is tested exactly
 * on both sides of its edge.
 *
 * `now()` of a schema that precedes `pg_catalog` in the search path replaces PostgreSQL's own in the program's
 * statements, and in the defaults of columns.
 */
export async function openClockedDatabase(): Promise<ClockedDatabase> {
  const scratch = await openMigratedDatabase();
  // Before the pool opens a connection: the setting is of later ones.
  const client = new pg.Client({ connectionString: scratch.url });
  await client.connect();
  try {
    await client.query(INSTALL);
  } finally {
    await client.end();
  }
  return {
    ...scratch,
    setClock: async (...later) => {
      await scratch.rows(
        `UPDATE clock.hand SET at = $1::timestamptz + (
           SELECT sum(part::interval) FROM unnest($2::text[]) AS part)`,
        [START, later],
      );
    },
  };
}

/** A database whose connection is ended by PostgreSQL before or after its nth statement. */
export function killing(database: Database, at: number, when: 'before' | 'after') {
  let statements = 0;
  const connect = async () => {
    const connection = await database.connect();
    const query = connection.query.bind(connection) as (...values: unknown[]) => Promise<unknown>;
    const killed = async (...values: unknown[]): Promise<unknown> => {
      statements += 1;
      if (statements !== at) return await query(...values);
      const { rows } = (await query('SELECT pg_backend_pid() AS pid')) as {
        rows: { pid: number }[];
      };
      if (when === 'after') await query(...values);
      connection.on('error', () => {});
      await database.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      return await query(...values);
    };
    const release = connection.release.bind(connection);
    return Object.assign(connection, {
      query: killed,
      release: (error?: Error | boolean) => {
        Object.assign(connection, { query, release });
        release(error ?? false);
      },
    });
  };
  const proxy = new Proxy(database, {
    get: (target, name) => {
      if (name === 'connect') return connect;
      if (name === 'query') {
        return async (...values: unknown[]) => {
          const connection = await connect();
          let failed: Error | undefined;
          try {
            return await (connection.query as (...all: unknown[]) => Promise<unknown>)(...values);
          } catch (error) {
            failed = error as Error;
            throw error;
          } finally {
            connection.release(failed);
          }
        };
      }
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { database: proxy, isOver: () => statements < at };
}
