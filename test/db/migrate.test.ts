/** The schema's history: applied once, by whoever comes first, and refused when it does not fit. */
import { afterEach, beforeEach, expect, test } from 'vitest';
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

test('a file that was changed after it had been applied is refused by name', async () => {
  await migrate(database);
  await database.query(`UPDATE schema_migrations SET sha256 = 'other' WHERE version = 1`);
  await expect(migrate(database)).rejects.toEqual(
    new OperatorError(
      `migrations/${names[0]} was changed after it had been applied. Restore the file.`,
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
        'It was written by a newer Sluice: start that one.',
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
