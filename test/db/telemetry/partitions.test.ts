/** Partitions of days, and of receipts: made ahead, dropped past retention, put right after an interrupted turn. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  dropOutdated,
  ensureDay,
  ensureDays,
  ensureReceipts,
  utcDay,
} from '../../../src/db/telemetry/partitions.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DAY_MS, NOON_MS } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';

const TABLES = ['blocks', 'hot_blocks', 'hot_places', 'places'];

let scratch: MigratedDatabase;
let changes: { created: string[]; dropped: string[] }[];
let failures: unknown[];

beforeEach(async () => {
  scratch = await openMigratedDatabase();
  changes = [];
  failures = [];
});
afterEach(() => scratch.close());

/** One turn of upkeep. */
async function keep(nowMs: number, retentionDays: number): Promise<void> {
  const events = {
    partitionsChanged: (created: readonly string[], dropped: readonly string[]) =>
      void changes.push({ created: [...created], dropped: [...dropped] }),
  };
  await ensureDays(scratch.database, nowMs, events);
  await dropOutdated(scratch.database, nowMs, retentionDays, events).catch((error: unknown) =>
    failures.push(error),
  );
}

/** Every partition there is, attached or not. */
async function tables(pattern = '_\\d{4}_\\d\\d_\\d\\d$'): Promise<unknown[]> {
  const rows = await scratch.rows(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ $1 ORDER BY 1`,
    [pattern],
  );
  return rows.map(({ relname }) => relname);
}

async function attached(): Promise<unknown[]> {
  const rows = await scratch.rows(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
       JOIN pg_class ON pg_class.oid = inhrelid WHERE relkind = 'r' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Detaching a partition of places is interrupted by a reader. @returns the reader, which still reads */
async function detachHalf(name: string) {
  const reader = await scratch.database.connect();
  await reader.query(`BEGIN; SELECT 1 FROM ${name}`);
  const detacher = await scratch.database.connect();
  await detacher.query(`SET lock_timeout = '50ms'`);
  await expect(
    detacher.query(`ALTER TABLE hot_places DETACH PARTITION ${name} CONCURRENTLY`),
  ).rejects.toMatchObject({ code: '55P03' });
  detacher.release(true);
  return reader;
}

/** The same, and the reader has ended. */
async function leaveHalfDetached(name: string): Promise<void> {
  const reader = await detachHalf(name);
  await reader.query('COMMIT');
  reader.release();
}

const ofDays = (...days: string[]): string[] =>
  TABLES.flatMap((table) => days.map((day) => `${table}_${day}`));

test.each([
  [0, '1970-01-01'],
  [NOON_MS, '2026-11-20'],
  [Date.UTC(2026, 10, 20, 23, 59, 59, 999), '2026-11-20'],
  [Date.UTC(2028, 1, 29), '2028-02-29'],
])('the day of %d is %s', (epochMs, day) => {
  expect(utcDay(epochMs)).toBe(day);
});

describe('ensuring a day', () => {
  test('makes its partitions once, with the indexes and defaults of their parents', async () => {
    expect((await ensureDay(scratch.database, NOON_MS)).sort()).toEqual(ofDays('2026_11_20'));
    expect(await ensureDay(scratch.database, NOON_MS + DAY_MS / 2 - 1)).toEqual([]);
    expect(await attached()).toEqual(ofDays('2026_11_20'));
    const indexes = await scratch.rows(
      `SELECT indexdef FROM pg_indexes WHERE tablename = 'hot_places_2026_11_20' ORDER BY 1`,
    );
    expect(indexes).toEqual([{ indexdef: expect.stringContaining('(workspace_id, run_id)') }]);
  });

  test('takes the rows of its own day and no others', async () => {
    await ensureDay(scratch.database, NOON_MS);
    const insert = (day: string): Promise<unknown> =>
      scratch.rows(
        `INSERT INTO hot_blocks (block_id, workspace_id, arrived_on, bytes, records, checksum, signal, codec,
           data) VALUES (gen_random_uuid(), 1, $1, 1, 1, 1, 1, 1, '')`,
        [day],
      );
    await insert('2026-11-20');
    await expect(insert('2026-11-19')).rejects.toMatchObject({ code: '23514' });
    await expect(insert('2026-11-21')).rejects.toMatchObject({ code: '23514' });
  });

  test('by many at once makes it once', async () => {
    const created = await Promise.all(
      Array.from({ length: 8 }, () => ensureDay(scratch.database, NOON_MS)),
    );
    expect(created.flat().sort()).toEqual(ofDays('2026_11_20'));
  });

  test('does not wait for a COPY that is under way', async () => {
    await ensureDay(scratch.database, NOON_MS);
    const writer = await scratch.database.connect();
    await writer.query('BEGIN; LOCK TABLE hot_blocks IN ROW EXCLUSIVE MODE');
    await ensureDay(scratch.database, NOON_MS + DAY_MS);
    await writer.query('COMMIT');
    writer.release();
    expect(await attached()).toEqual(ofDays('2026_11_20', '2026_11_21'));
  });
});

describe('keeping partitions', () => {
  const days = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) =>
      utcDay(NOON_MS + (from + index) * DAY_MS).replaceAll('-', '_'),
    );

  async function ensureDaysOf(from: number, to: number): Promise<void> {
    for (let day = from; day <= to; day += 1) {
      await ensureDay(scratch.database, NOON_MS + day * DAY_MS);
    }
  }

  test('makes today and two days ahead, and tells once', async () => {
    await keep(NOON_MS, 30);
    await keep(NOON_MS, 30);
    expect(await attached()).toEqual(ofDays(...days(0, 2)));
    expect(changes.map(({ created, dropped }) => [created.length, dropped])).toEqual([
      [3 * TABLES.length, []],
    ]);
  });

  test('drops what is past retention, and not a day earlier', async () => {
    await ensureDaysOf(-4, 2);
    await keep(NOON_MS, 2);
    expect(await tables()).toEqual(ofDays(...days(-2, 2)));
    expect(changes).toEqual([{ created: [], dropped: expect.any(Array) }]);
    expect(changes[0]?.dropped.sort()).toEqual(ofDays(...days(-4, -3)));
    await keep(NOON_MS + DAY_MS - 12 * 3_600_000, 2);
    expect(await tables()).toEqual(ofDays(...days(-1, 3)));
  });

  test('retention 0 keeps everything', async () => {
    await ensureDaysOf(-400, -400);
    await keep(NOON_MS, 0);
    expect(await tables()).toContain('hot_blocks_2025_10_16');
  });

  test('drops nothing that only looks like a partition', async () => {
    const others = ['hot_blocks_2020_01_01_copy', 'my_blocks_2020_01_01', 'hot_blocks_2020_1_1'];
    for (const name of others) await scratch.rows(`CREATE TABLE ${name} ()`);
    await keep(NOON_MS, 1);
    expect(await tables('2020')).toEqual([...others].sort());
  });

  test('drops a table that an interrupted turn left detached', async () => {
    await ensureDaysOf(-5, -5);
    await scratch.rows('ALTER TABLE hot_places DETACH PARTITION hot_places_2026_11_15');
    expect(await attached()).not.toContain('hot_places_2026_11_15');
    await keep(NOON_MS, 1);
    expect(await tables()).toEqual(ofDays(...days(0, 2)));
  });

  test('finishes a detaching that was interrupted half-way', async () => {
    await ensureDaysOf(-5, -5);
    const reader = await detachHalf('hot_places_2026_11_15');
    // Readers are not waited for longer than a statement of ingest may wait.
    await keep(NOON_MS, 1);
    expect(failures).toMatchObject([{ code: '57014' }]);
    expect(await tables()).toContain('hot_places_2026_11_15');
    await reader.query('COMMIT');
    reader.release();
    const pending = await scratch.rows(
      'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhdetachpending',
    );
    expect(pending).toEqual([{ name: 'hot_places_2026_11_15' }]);
    await keep(NOON_MS, 1);
    expect(await tables()).toEqual(ofDays(...days(0, 2)));
  });

  test('of partitions that somebody reads only those stay, and blocks whose places are read', async () => {
    await ensureDaysOf(-6, -4);
    const reader = await scratch.database.connect();
    await reader.query(
      'BEGIN; SELECT 1 FROM hot_blocks_2026_11_15; SELECT 1 FROM hot_places_2026_11_14',
    );
    await keep(NOON_MS, 1);
    expect(failures).toMatchObject([{ code: '55P03' }]);
    expect(String(failures[0])).toContain('"hot_places_2026_11_14"');
    const read = ['hot_blocks_2026_11_14', 'hot_blocks_2026_11_15', 'hot_places_2026_11_14'];
    expect((await attached()).sort()).toEqual([...ofDays(...days(0, 2)), ...read].sort());
    expect(changes.flatMap(({ dropped }) => dropped)).toHaveLength(3 * TABLES.length - 3);
    await reader.query('COMMIT');
    reader.release();
    await keep(NOON_MS, 1);
    expect(await tables()).toEqual(ofDays(...days(0, 2)));
    expect(changes.at(-1)?.dropped).toEqual([
      'hot_places_2026_11_14',
      'hot_blocks_2026_11_14',
      'hot_blocks_2026_11_15',
    ]);
    expect(failures).toHaveLength(1);
  });

  test('a reader of a whole table holds up that table alone, and leaves no setting behind', async () => {
    await ensureDaysOf(-5, -5);
    const reader = await scratch.database.connect();
    await reader.query('BEGIN; SELECT 1 FROM hot_blocks');
    await keep(NOON_MS, 1);
    expect(failures).toMatchObject([{ code: '55P03' }]);
    expect(await tables()).toEqual([...ofDays(...days(0, 2)), 'hot_blocks_2026_11_15'].sort());
    await reader.query('COMMIT');
    reader.release();
    await keep(NOON_MS, 1);
    expect(await tables()).toEqual(ofDays(...days(0, 2)));
    const settings = await Promise.all(
      Array.from({ length: scratch.database.totalCount }, () => scratch.rows('SHOW lock_timeout')),
    );
    expect(new Set(settings.flat().map((row) => row.lock_timeout))).toEqual(new Set(['0']));
  });

  test('finishes a detaching while a process waits to create a partition', async () => {
    await ensureDay(scratch.database, NOON_MS);
    await leaveHalfDetached('hot_places_2026_11_20');
    const creating = await scratch.database.connect();
    await creating.query("BEGIN; SELECT pg_advisory_xact_lock(x'736c756963652b31'::bigint)");
    const created = ensureDay(scratch.database, NOON_MS + 9 * DAY_MS);
    await waitFor(
      async () => {
        const [row] = await scratch.rows(
          `SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%advisory%' AND query NOT LIKE '%activity%'`,
        );
        return row?.n === 2;
      },
      { withinMs: 20_000, what: 'a process that waits for the one that creates' },
    );
    const events = { partitionsChanged: () => undefined };
    await dropOutdated(scratch.database, NOON_MS + 9 * DAY_MS, 1, events);
    await creating.query('COMMIT');
    creating.release();
    expect((await created).sort()).toEqual(ofDays('2026_11_29'));
    expect(await attached()).toEqual(ofDays('2026_11_29'));
  });

  test('a partition is made while a detaching is finished, without a deadlock', async () => {
    await ensureDay(scratch.database, NOON_MS);
    await leaveHalfDetached('hot_places_2026_11_20');
    const gate = await scratch.database.connect();
    await gate.query('BEGIN; SELECT pg_advisory_xact_lock(1)');
    // Creating stops after CREATE TABLE, before the partition is attached.
    await scratch.rows(
      `CREATE FUNCTION stop_at_gate() RETURNS event_trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock(1); END'`,
    );
    await scratch.rows(
      `CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
         EXECUTE FUNCTION stop_at_gate()`,
    );
    const created = ensureDay(scratch.database, NOON_MS + 9 * DAY_MS);
    await scratch.blocked();
    const events = { partitionsChanged: () => undefined };
    const drop = () => dropOutdated(scratch.database, NOON_MS + 9 * DAY_MS, 1, events);
    let isOpen = false;
    // Dropping gives up after two seconds; it is tried again until both have been seen to wait.
    const dropping = (async () => {
      while (!isOpen) {
        await drop().catch((error: unknown) => {
          expect(['55P03', '57014']).toContain(Reflect.get(error as Error, 'code'));
        });
      }
    })();
    await scratch.blocked(2);
    isOpen = true;
    await gate.query('COMMIT');
    gate.release();
    expect((await created).sort()).toEqual(ofDays('2026_11_29'));
    await dropping;
    await drop();
    expect(await attached()).toEqual(ofDays('2026_11_29'));
  });

  test('partitions are made though nothing can be dropped', async () => {
    await ensureDaysOf(-5, -5);
    const reader = await scratch.database.connect();
    await reader.query('BEGIN; SELECT 1 FROM hot_blocks; SELECT 1 FROM hot_places');
    await ensureDays(scratch.database, NOON_MS, { partitionsChanged: () => undefined });
    expect(await attached()).toEqual(expect.arrayContaining(ofDays(...days(0, 2))));
    await reader.query('COMMIT');
    reader.release();
  });
});

describe('the periods of receipts', () => {
  const HOUR_MS = 3_600_000;
  const from = (...hours: string[]): string[] => hours.map((hour) => `receipts_2026_11_${hour}`);
  const quiet = { partitionsChanged: () => undefined, maintenanceFailed: () => undefined };
  const keepReceipts = async (nowMs: number): Promise<unknown[]> => {
    await ensureReceipts(scratch.database, nowMs, quiet);
    await dropOutdated(scratch.database, nowMs, 0, quiet);
    return await tables('^receipts_');
  };

  test('are made ahead, and dropped an hour after their end, whatever the retention is', async () => {
    expect(await keepReceipts(NOON_MS)).toEqual(from('20_08', '20_12', '20_16'));
    expect(await keepReceipts(NOON_MS + HOUR_MS - 1)).toEqual(from('20_08', '20_12', '20_16'));
    expect(await keepReceipts(NOON_MS + HOUR_MS)).toEqual(from('20_12', '20_16'));
    expect(await keepReceipts(NOON_MS + 12 * HOUR_MS)).toEqual(from('20_20', '21_00', '21_04'));
  });
});
