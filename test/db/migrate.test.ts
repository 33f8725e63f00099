/** The schema's history: applied once, by the first process, and refused when it does not fit. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database } from '../../src/db/database.ts';
import { createMigrationsProbe, loadMigrations, migrate } from '../../src/db/migrate.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
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

test('0003 clears the excerpts of workspaces that redact, wherever PostgreSQL keeps them', async () => {
  await migrate(database, loadMigrations().slice(0, 2));
  await database.query(
    `INSERT INTO workspaces (slug, name, redact_excerpts)
     VALUES ('open', 'Open', false), ('closed', 'Closed', true)`,
  );
  await database.query(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions)
     SELECT 1 + n % 2, gen_random_uuid(), 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f',
            's', 'n', 'said ' || n / 20, '[]'
       FROM generate_series(0, 99) AS n`,
  );
  await database.query('ANALYZE findings');
  const sampled = async (): Promise<unknown[]> => {
    const { rows } = await database.query(
      `SELECT 1 FROM pg_stats WHERE tablename = 'findings' AND attname = 'excerpt'`,
    );
    return rows;
  };
  expect(await sampled()).toHaveLength(1);

  expect(await migrate(database)).toEqual(names.slice(2));
  await database.query('ANALYZE findings');
  expect(await sampled()).toEqual([]);
  const { rows } = await database.query(
    `SELECT workspace_id, count(*)::int AS findings, count(excerpt)::int AS excerpts
       FROM findings GROUP BY 1 ORDER BY 1`,
  );
  expect(rows).toEqual([
    { workspace_id: 1, findings: 50, excerpts: 50 },
    { workspace_id: 2, findings: 50, excerpts: 0 },
  ]);
});

test('0005 keeps the log records of every day, and later days have its column and index too', async () => {
  await migrate(database, loadMigrations().slice(0, 4));
  const day = Date.UTC(2026, 10, 20);
  await ensureDay(database, day);
  await database.query(
    `INSERT INTO log_records (time_unix_nano, observed_unix_nano, workspace_id, arrived_on,
       trace_id, resource_id, severity_number, attributes)
     SELECT n, n, 1, '2026-11-20', gen_random_uuid(), gen_random_uuid(), 9, '{"k":"v"}'
       FROM generate_series(1, 100) AS n`,
  );
  expect(await migrate(database)).toEqual(names.slice(4));
  await ensureDay(database, day + 86_400_000);
  const { rows: kept } = await database.query(
    `SELECT count(*)::int AS records, count(trace_id)::int AS traced, count(run_id)::int AS run
       FROM log_records`,
  );
  expect(kept).toEqual([{ records: 100, traced: 100, run: 0 }]);
  const { rows: indexes } = await database.query(
    `SELECT tablename AS name FROM pg_indexes
      WHERE tablename LIKE 'log_records_2026%' AND indexdef LIKE '%run_id%' ORDER BY 1`,
  );
  expect(indexes.map(({ name }) => name)).toEqual([
    'log_records_2026_11_20',
    'log_records_2026_11_21',
  ]);
});

test('0019 gives findings the facts of their runs, and every workspace keys of its own', async () => {
  await migrate(database, loadMigrations().slice(0, 18));
  await database.query(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')`);
  await database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, agent_name, service_name,
       user_id, session_id, model)
     SELECT 1, lpad(n::text, 32, '0')::uuid, 'completed', 1, 0, 'agent ' || n, repeat('s', 300),
            'user', 'session', 'model' FROM generate_series(1, 2) AS n`,
  );
  await database.query(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions)
     SELECT 1, lpad(n::text, 32, '0')::uuid, 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f',
            's', 'n', 'e', '[]' FROM generate_series(1, 3) AS n`,
  );
  expect(await migrate(database)).toEqual(names.slice(18));
  const { rows } = await database.query(
    `SELECT agent_name, length(service_name) AS service, user_id, session_id, model, tool_name,
            match_digest FROM findings ORDER BY run_id`,
  );
  const others = { tool_name: null, match_digest: null };
  const facts = { service: 256, user_id: 'user', session_id: 'session', model: 'model', ...others };
  const none = { service: null, user_id: null, session_id: null, model: null, ...others };
  expect(rows).toEqual([
    { agent_name: 'agent 1', ...facts },
    { agent_name: 'agent 2', ...facts },
    { agent_name: null, ...none },
  ]);
  // A version that does not know the columns creates a workspace with keys too.
  await database.query(`INSERT INTO workspaces (slug, name) VALUES ('three', 'Three')`);
  const { rows: keys } = await database.query(
    `SELECT count(DISTINCT match_key_inner)::int + count(DISTINCT match_key_outer)::int AS keys
       FROM workspaces`,
  );
  expect(keys).toEqual([{ keys: 6 }]);
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
        'It was written by a newer version of Sluice: use that version.',
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
