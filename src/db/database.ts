/**
 * Connections to PostgreSQL: how they are made, how values come back, whether the server will do.
 *
 * Values come back in the project's own forms: uuid as 32 hexadecimal digits without dashes, bytea
 * as Buffer, bigint as decimal text, json parsed, timestamptz as Date.
 */
import pg from 'pg';

import { OperatorError } from '../errors.ts';
import type { Events } from '../observe/events.ts';

const UUID_OID = 2950;
/** `ALTER TABLE … DETACH PARTITION … CONCURRENTLY` came with 14. */
const SERVER_VERSION_MIN = 140_000;
const CONNECT_TIMEOUT_MS = 5000;
/**
 * No statement of ours runs longer in good health; a hung server must not hold requests for ever.
 */
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 30_000;

const stripDashes = (text: string): string => text.replaceAll('-', '');

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === UUID_OID
      ? stripDashes
      : format === undefined
        ? pg.types.getTypeParser(oid)
        : pg.types.getTypeParser(oid, format),
};

export type Database = pg.Pool;
export type Connection = pg.PoolClient;
/** What can carry a single statement, inside a transaction or not. */
export type Queryable = Pick<Database, 'query'> | Pick<Connection, 'query'>;

/**
 * A pool of connections; none is opened before it is needed.
 *
 * @param url postgres://…
 * @param max most connections at a time
 * @param events told of connections that the server ended while idle
 */
export function createDatabase(
  url: string,
  max: number,
  events: Pick<Events, 'connectionLost'>,
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    application_name: 'sluice',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', (error) => events.connectionLost(error));
  // The same for one that is lost while it works: its query rejects, and that is where it is told.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Runs `work` on one connection inside a transaction; a failed one is rolled back, and the
 * connection is thrown away when even that fails.
 */
export async function inTransaction<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await database.connect();
  let broken: Error | undefined;
  try {
    await connection.query('BEGIN');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch((rollbackError: unknown) => {
      broken = rollbackError instanceof Error ? rollbackError : new Error('ROLLBACK failed');
    });
    throw error;
  } finally {
    connection.release(broken);
  }
}

/**
 * Checks that the server answers and is new enough.
 *
 * @throws {OperatorError} naming DATABASE_URL and what is wrong
 */
export async function checkServer(database: Database): Promise<void> {
  let version: number;
  try {
    const result = await database.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    );
    version = result.rows[0]?.version ?? 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`The database of DATABASE_URL does not answer: ${why}`, {
      cause: error,
    });
  }
  if (version < SERVER_VERSION_MIN) {
    throw new OperatorError(
      `PostgreSQL 14 or newer is needed; DATABASE_URL leads to ${Math.floor(version / 10_000)}`,
    );
  }
}

/** The `db` probe: resolves when a query has gone through. */
export async function ping(database: Database): Promise<void> {
  await database.query('SELECT 1');
}
