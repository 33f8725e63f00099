/**
 * Where connections of a pool lead: to PostgreSQL itself, or to a pooler (PgBouncer) in front of it.
 *
 * A pooler gives its clients its own process ids and keys, so that a request to cancel comes to it;
 * the backend reports another id.
 */
import type { Connection, Database } from './database.ts';

export interface DatabaseRoute {
  /** a connection is a session of the server: LISTEN and SET hold */
  readonly isDirect: boolean;
  /** of the server and the database in it; another one after a restart of the server */
  readonly identity: string;
}

/** `pg` keeps it from the start of the connection; not in its types (pg 8.23, `lib/client.js`). */
export const announcedPid = (connection: Connection): unknown =>
  Reflect.get(connection, 'processID');

export async function findRoute(database: Database): Promise<DatabaseRoute> {
  const connection = await database.connect();
  try {
    const { rows } = await connection.query<{ pid: number; identity: string }>(
      `SELECT pg_backend_pid() AS pid,
              concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), current_database())
                AS identity`,
    );
    const { pid = 0, identity = '' } = rows[0] ?? {};
    return { isDirect: pid === announcedPid(connection), identity };
  } finally {
    connection.release();
  }
}
