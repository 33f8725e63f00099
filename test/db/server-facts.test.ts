/** What is read of a real server, and that missing parts of the schema are found. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../../src/db/database.ts';
import { readCitusFacts } from '../../src/db/distribute.ts';
import {
  readCheckpoints,
  readPrivileges,
  readReplication,
  readSchema,
  readServerConnections,
  readServerSettings,
} from '../../src/db/server-facts.ts';
import { ensureDays, ensureReceipts } from '../../src/db/telemetry/partitions.ts';
import {
  createTestDatabase,
  type MigratedDatabase,
  openMigratedDatabase,
} from '../support/database.ts';

let scratch: MigratedDatabase;
const NOW_MS = Date.parse('2026-11-22T12:00:00Z');
const events = { partitionsChanged: () => {} };

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDays(scratch.database, NOW_MS, events);
  await ensureReceipts(scratch.database, NOW_MS, events);
});
afterAll(() => scratch.close());

test('settings, connections, checkpoints and replication are there with their types', async () => {
  const settings = await readServerSettings(scratch.database);
  expect(settings).toMatchObject({
    encoding: 'UTF8',
    isStandby: false,
    readOnly: false,
    fullPageWrites: expect.any(Boolean),
  });
  expect(settings.version).toBeGreaterThanOrEqual(140_000);
  for (const name of ['maxWalBytes', 'sharedBufferBytes', 'databaseBytes'] as const) {
    expect(settings[name]).toBeGreaterThan(1024 ** 2);
  }
  expect(settings.checkpointSeconds).toBeGreaterThanOrEqual(30);
  const connections = await readServerConnections(scratch.database);
  expect(connections.used).toBeGreaterThan(0);
  expect(connections.allowed).toBeGreaterThan(connections.used);
  const checkpoints = await readCheckpoints(scratch.database, settings.version);
  expect(checkpoints.walBytesPerSecond).toBeGreaterThan(0);
  expect(checkpoints.walBytes).toBeGreaterThan(0);
  expect(await readReplication(scratch.database)).toEqual({ replicas: [], slots: [] });
});

test('a schema that is complete, and one that lacks a migration and a partition', async () => {
  const { database, rows } = scratch;
  expect(await readSchema(database, NOW_MS)).toEqual({
    missingMigrations: [],
    historyFault: null,
    missingPartitions: [],
  });
  await rows('DELETE FROM schema_migrations');
  await rows('ALTER TABLE hot_places DETACH PARTITION hot_places_2026_11_23');
  await rows('DROP TABLE hot_blocks_2026_11_22');
  expect(await readSchema(database, NOW_MS)).toEqual({
    missingMigrations: ['0001-initial.sql'],
    historyFault: null,
    missingPartitions: ['hot_blocks_2026_11_22', 'hot_places_2026_11_23'],
  });
  await rows('INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, $1, $1)', ['x']);
  expect(await readSchema(database, NOW_MS)).toMatchObject({
    historyFault: { found: 'The database was created by a development version before 0.1.0.' },
  });
});

test('an empty database has no schema yet', async () => {
  const empty = await createTestDatabase();
  const database = createDatabase(empty.url, 1, { connectionLost: () => {} });
  try {
    expect(await readSchema(database, NOW_MS)).toBeNull();
  } finally {
    await database.end();
    await empty.drop();
  }
});

test('a role that owns nothing and may create nothing', async () => {
  const { database, rows } = scratch;
  expect(await readPrivileges(database)).toMatchObject({ mayCreate: true, foreignTables: [] });
  const role = `reader_${process.pid}`;
  await rows(`CREATE ROLE ${role}`);
  await rows('REVOKE CREATE ON SCHEMA public FROM public');
  const connection = await database.connect();
  try {
    await connection.query(`BEGIN; SET LOCAL ROLE ${role}`);
    expect(await readPrivileges(connection)).toEqual({
      role,
      mayCreate: false,
      isSuperuser: false,
      foreignTables: [
        'blocks',
        'findings',
        'hot_blocks',
        'hot_places',
        'places',
        'receipts',
        'runs',
        'schema_migrations',
      ],
    });
  } finally {
    await connection.query('ROLLBACK');
    connection.release();
    await rows(`DROP ROLE ${role}`);
  }
});

test('plain PostgreSQL is no Citus cluster', async () => {
  expect(await readCitusFacts(scratch.database)).toBeNull();
});
