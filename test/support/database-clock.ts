/**
 * A migrated database whose `now()` is what the test sets, so that a condition with a time is tested exactly
 * on both sides of its edge.
 *
 * `now()` of a schema that precedes `pg_catalog` in the search path replaces PostgreSQL's own in the program's
 * statements, and in the defaults of columns.
 */
import pg from 'pg';

import { type MigratedDatabase, openMigratedDatabase } from './migrated-database.ts';

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

/** Opens such a database; its time is `START`. */
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
