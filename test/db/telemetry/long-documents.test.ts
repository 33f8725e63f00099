/** How long documents are stored, on a server with lz4 and on one without, and as operators change it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, type Database } from '../../../src/db/database.ts';
import { loadMigrations, migrate } from '../../../src/db/migrate.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { NOON_MS } from '../../support/rows.ts';

let scratch: TestDatabase;
let database: Database;

beforeEach(async () => {
  scratch = await createTestDatabase();
  database = createDatabase(scratch.url, 4, { connectionLost: () => undefined });
});
afterEach(async () => {
  await database.end();
  await scratch.drop();
});

const DOCUMENTS = {
  spans: ['attributes', 'events', 'links'],
  log_records: ['attributes', 'body'],
};
const TABLES = Object.keys(DOCUMENTS);
const DAY_OPTIONS = ['autovacuum_vacuum_insert_threshold=-1', 'toast_tuple_target=4080'];

/** Some 14 KB of text: too long for a row, and compressible. */
const LONG = `(SELECT string_agg('The customer asks about order ' || i || '. ', '')
                FROM generate_series(1, 400) AS i)`;

async function rows<Row extends object>(sql: string): Promise<Row[]> {
  return (await database.query<Row & Record<string, unknown>>(sql)).rows;
}

/** Whether the server was built with lz4: the tests' own is not, another may be. */
async function hasLz4(): Promise<boolean> {
  const [setting] = await rows<{ enumvals: string[] }>(
    `SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'`,
  );
  return setting?.enumvals.includes('lz4') ?? false;
}

/** Storage and compression of all json columns of a table and its days: `e`, or `xl`. */
async function keptAs(pattern: string): Promise<Record<string, string>> {
  const found = await rows<{ place: string; how: string }>(
    `SELECT relname || '.' || attname AS place, concat(attstorage, attcompression) AS how
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      WHERE relname ~ '${pattern}' AND relkind IN ('r', 'p') AND atttypid = 'json'::regtype
      ORDER BY 1`,
  );
  return Object.fromEntries(found.map(({ place, how }) => [place, how]));
}

function everyDocument(suffix: string, how: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(DOCUMENTS).flatMap(([table, columns]) =>
      columns.map((column) => [`${table}${suffix}.${column}`, how]),
    ),
  );
}

async function storeSpan(name: string): Promise<void> {
  await database.query(
    `INSERT INTO spans (start_unix_nano, end_unix_nano, workspace_id, arrived_on, trace_id,
       resource_id, kind, status_code, span_id, name, attributes)
     VALUES (1, 2, 1, '2026-11-20', gen_random_uuid(), gen_random_uuid(), 1, 0, '\\x01', '${name}',
       json_build_object('text', ${LONG}))`,
  );
}

test('the tables store documents as the server can', async () => {
  await migrate(database);
  const how = (await hasLz4()) ? 'xl' : 'e';
  expect(await keptAs(`^(${TABLES.join('|')})$`)).toEqual(everyDocument('', how));
});

describe('days', () => {
  test('keep documents as the parents do', async () => {
    await migrate(database);
    await ensureDay(database, NOON_MS);
    const how = (await hasLz4()) ? 'xl' : 'e';
    expect(await keptAs('_2026_11_20$')).toEqual(everyDocument('_2026_11_20', how));
    await storeSpan('long');
    expect(
      await rows(
        `SELECT attributes->>'text' = ${LONG} AS same,
                pg_column_compression(attributes) AS compression FROM spans`,
      ),
    ).toEqual([{ same: true, compression: how === 'xl' ? 'lz4' : null }]);
  });

  test('let two rows fill a page, and are not vacuumed for rows that are only added', async () => {
    await migrate(database);
    await ensureDay(database, NOON_MS);
    const days = await rows<{ relname: string; reloptions: string[] }>(
      `SELECT relname, ARRAY(SELECT unnest(reloptions) ORDER BY 1) AS reloptions FROM pg_class
        WHERE relkind = 'r' AND relname ~ '^(${TABLES.join('|')})_2026' ORDER BY 1`,
    );
    expect(days).toEqual(
      TABLES.toSorted().map((table) => ({
        relname: `${table}_2026_11_20`,
        reloptions: DAY_OPTIONS,
      })),
    );
  });

  test('follow a parent that the operator changed', async () => {
    await migrate(database);
    await database.query(
      `ALTER TABLE spans ALTER attributes SET STORAGE EXTENDED,
                         ALTER attributes SET COMPRESSION pglz`,
    );
    await ensureDay(database, NOON_MS);
    expect(await keptAs('^spans_2026_11_20$')).toMatchObject({
      'spans_2026_11_20.attributes': 'xp',
    });
    await storeSpan('compressed');
    expect(await rows('SELECT pg_column_compression(attributes) AS how FROM spans')).toEqual([
      { how: 'pglz' },
    ]);
  });
});

test('lz4 is used where the server has it, and nowhere else', async () => {
  const sql = loadMigrations()[0]?.sql ?? '';
  // The server under test has it or has not; with the condition reversed, the file takes the other way.
  const altered = sql.replace("'lz4' = ANY (enumvals)", String(!(await hasLz4())));
  expect(altered).not.toBe(sql);
  if (await hasLz4()) {
    await database.query(altered);
    expect(new Set(Object.values(await keptAs('^spans$')))).toEqual(new Set(['e']));
  } else {
    await expect(database.query(altered)).rejects.toMatchObject({ code: '0A000' });
  }
});
