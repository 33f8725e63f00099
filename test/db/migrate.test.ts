/** The schema's history: applied once, by the first process, and refused when it does not fit. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, type Database } from '../../src/db/database.ts';
import { createMigrationsProbe, loadMigrations, migrate } from '../../src/db/migrate.ts';
import { OperatorError } from '../../src/errors.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let empty: TestDatabase;
let database: Database;

beforeEach(async () => {
  empty = await createTestDatabase();
  database = createDatabase(empty.url, 10, { connectionLost: () => undefined });
});
afterEach(async () => {
  await database.end();
  await empty.drop();
});

const names = loadMigrations().map(({ name }) => name);

test('the files are numbered without gaps', () => {
  expect(names.length).toBeGreaterThan(0);
  expect(loadMigrations().map(({ version }) => version)).toEqual(
    names.map((_, index) => index + 1),
  );
});

test('the first time applies all, the second nothing', async () => {
  expect(await migrate(database)).toEqual(names);
  expect(await migrate(database)).toEqual([]);
  const { rows } = await database.query('SELECT name, sha256 FROM schema_migrations ORDER BY 1');
  expect(rows).toEqual(loadMigrations().map(({ name, sha256 }) => ({ name, sha256 })));
  await createMigrationsProbe(database)();
});

test('of many at once one applies all, and the others wait and find nothing to do', async () => {
  const applied = await Promise.all(Array.from({ length: 8 }, () => migrate(database)));
  expect(applied.flat()).toEqual(names);
});

test('a database that lacks the last migration gets that one', async () => {
  await migrate(database);
  const next = {
    version: names.length + 1,
    name: 'next.sql',
    sql: 'CREATE TABLE next ()',
    sha256: 'digest of next',
  };
  expect(await migrate(database, [...loadMigrations(), next])).toEqual([next.name]);
  await database.query('SELECT FROM next');
});

test('no statistics hold excerpts: ANALYZE copies no values of them', async () => {
  await migrate(database);
  await database.query(
    `INSERT INTO workspaces (slug, name) VALUES ('one', 'One');
     INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, corpus_identity, description, condition_index,
       condition_description, field, surface, step_name, step_name_matched, excerpt, match_digest,
       place, recommended_actions)
     SELECT 1, gen_random_uuid(), 'R', '1', 'stable', 'high', 'c', '4', '', 'd', 0, 'c', 'f',
            's', 'n', true, 'said ' || n / 20, '', '{}', '[]'
       FROM generate_series(0, 99) AS n;
     ANALYZE findings`,
  );
  const { rows } = await database.query(
    `SELECT attname AS name FROM pg_stats
      WHERE tablename = 'findings' AND attname IN ('rule_id', 'excerpt', 'step_name')`,
  );
  expect(rows).toEqual([{ name: 'rule_id' }]);
});

test('every workspace has two keys of its own', async () => {
  await migrate(database);
  await database.query(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')`);
  const { rows } = await database.query(
    `SELECT count(DISTINCT key)::int AS keys FROM workspaces,
            unnest(ARRAY[match_key_inner, match_key_outer]) AS key WHERE length(key) = 64`,
  );
  expect(rows).toEqual([{ keys: 4 }]);
});

describe('a database of a development version', () => {
  const development = new OperatorError(
    'The database was created by a development version before 0.1.0. Create a new one: name an ' +
      'empty database in DATABASE_URL or, for the embedded one, another folder in DATA_DIR.',
  );
  const history = `
    CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL,
      sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE runs (run_id uuid PRIMARY KEY);
    INSERT INTO runs VALUES ('00000000-0000-0000-0000-000000000001');
    INSERT INTO schema_migrations (version, name, sha256) VALUES (1, '0001-initial.sql', 'older')`;

  test.each([
    ['one migration', history],
    ['many migrations', `${history}, (2, '0002-rejected-requests.sql', 'older')`],
  ])('with %s is refused, and stays as it was', async (_, sql) => {
    await database.query(sql);
    const state = async (): Promise<unknown[]> => {
      const { rows } = await database.query(
        `SELECT relname AS name, (SELECT json_agg(r) FROM runs r) AS runs,
                (SELECT json_agg(m) FROM schema_migrations m) AS migrations
           FROM pg_class WHERE relnamespace = current_schema::regnamespace ORDER BY 1`,
      );
      return rows;
    };
    const before = await state();
    await expect(migrate(database)).rejects.toEqual(development);
    expect(await state()).toEqual(before);
  });
});

test('a file that was changed after it had been applied is refused by name', async () => {
  const second = { version: 2, name: '0002-second.sql', sql: 'SELECT', sha256: 'shipped' };
  const shipped = [...loadMigrations().slice(0, 1), second];
  await migrate(database, shipped);
  const changed = shipped.with(1, { ...second, sha256: 'changed' });
  await expect(migrate(database, changed)).rejects.toEqual(
    new OperatorError(
      'migrations/0002-second.sql was changed after it had been applied. Restore the file.',
    ),
  );
});

test('a database of a newer program is refused', async () => {
  await migrate(database);
  await database.query(
    `INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, '9999-later.sql', '')`,
  );
  await expect(migrate(database)).rejects.toEqual(
    new OperatorError(
      'The database has migration 9999, which this version does not know. ' +
        'Use the newer version of Sluice that wrote it.',
    ),
  );
});

test('a migration that fails leaves nothing behind', async () => {
  await database.query('CREATE TABLE workspaces (something_else integer)');
  await expect(migrate(database)).rejects.toMatchObject({ code: '42P07' });
  const { rows } = await database.query(`SELECT to_regclass('schema_migrations') AS history`);
  expect(rows).toEqual([{ history: null }]);
});

test('the probe passes on the database of a newer program, and fails on that of an older', async () => {
  await migrate(database);
  const probe = createMigrationsProbe(database);
  await database.query(
    `INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, '9999-later.sql', '')`,
  );
  await probe();
  await database.query('DELETE FROM schema_migrations WHERE version = 1');
  await expect(probe()).rejects.toThrow(
    `${names.length - 1} of ${names.length} migrations are applied`,
  );
});

test('the probe fails on a database without a schema', async () => {
  await expect(createMigrationsProbe(database)()).rejects.toMatchObject({ code: '42P01' });
});
