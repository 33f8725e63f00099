/** Kills what a test does at any of its statements. */
import type { Database } from '../../src/db/database.ts';

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
