/**
 * Resources are deleted when no kept row can refer to them, and never while one does, whatever the processes
 * that ingest remember of them.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { DeletionTurn } from '../../../src/db/retention/deletion.ts';
import { deleteUnusedResources } from '../../../src/db/retention/outdated-resources.ts';
import { storeBatch } from '../../../src/db/telemetry/copy-transaction.ts';
import { dropOutdated, ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { KnownContents } from '../../../src/db/telemetry/shared-contents.ts';
import { encodeRequest } from '../../support/decoding.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/migrated-database.ts';
import {
  DAY_MS,
  decodedRequest,
  hex8,
  hex16,
  NOON_MS,
  resourceRow,
  spanRow,
} from '../../support/rows.ts';

let scratch: MigratedDatabase;
beforeEach(async () => {
  scratch = await openMigratedDatabase();
});
afterEach(() => scratch.close());

const turn = () => new DeletionTurn(scratch.database, new AbortController().signal);

/** A request of one span that refers to resource number `at`. */
const requestOf = (at: number, day: number) =>
  encodeRequest(
    decodedRequest({
      resources: [resourceRow({ id: hex16(at) })],
      spans: [spanRow({ resourceId: hex16(at), spanId: hex8(at + 1) })],
    }),
    1,
    NOON_MS + day * DAY_MS,
  );

/** Stores it as a process that knows `known`. */
async function store(known: KnownContents, at: number, day: number): Promise<void> {
  await ensureDay(scratch.database, NOON_MS + day * DAY_MS);
  const connection = await scratch.database.connect();
  try {
    await storeBatch(connection, [requestOf(at, day)], known);
  } finally {
    connection.release();
  }
}

/** Drops the partitions that are outdated on a day. */
async function dropOn(day: number, retentionDays: number): Promise<void> {
  const quiet = { partitionsChanged: () => undefined };
  await dropOutdated(scratch.database, NOON_MS + day * DAY_MS, retentionDays, quiet);
}

/** @returns deleted resources */
const deleteOn = (day: number, retentionDays: number): Promise<number> =>
  deleteUnusedResources(turn(), NOON_MS + day * DAY_MS, retentionDays);

/** Upkeep on a day: partitions first, then what they referred to. */
async function upkeep(day: number, retentionDays: number): Promise<number> {
  await dropOn(day, retentionDays);
  return await deleteOn(day, retentionDays);
}

/** Of a partition that is in use, or that the other upkeep has just detached or dropped. */
const TAKEN = ['55P03', '55000', '42P01', '57014'];

/** Upkeep while another process has its turn too: a partition may be taken by that one. */
async function upkeepBesideAnother(day: number, retentionDays: number): Promise<number> {
  await dropOn(day, retentionDays).catch((error: unknown) => {
    expect(TAKEN).toContain(Reflect.get(Object(error), 'code'));
  });
  return await deleteOn(day, retentionDays);
}

/** Rows that refer to a resource that is not there. */
async function orphans(): Promise<unknown[]> {
  return await scratch.rows(
    `SELECT arrived_on::text, resource_id AS id FROM spans s WHERE NOT EXISTS (
       SELECT FROM resources r WHERE r.workspace_id = s.workspace_id AND r.id = s.resource_id)`,
  );
}

const count = async (table: string): Promise<number> =>
  Number((await scratch.rows(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n);

describe('what is deleted', () => {
  test('what no kept day can refer to, and not a day earlier', async () => {
    await store(new KnownContents(), 1, 0);
    expect(await upkeep(30, 30)).toEqual(0);
    expect(await count('spans')).toBe(1);
    expect(await upkeep(31, 30)).toEqual(1);
    expect(await count('resources')).toEqual(0);
  });

  test('nothing while telemetry is kept for ever', async () => {
    await store(new KnownContents(), 1, 0);
    expect(await upkeep(10_000, 0)).toEqual(0);
    expect(await orphans()).toEqual([]);
  });

  test('nothing that a day refers to which is past retention and still read', async () => {
    await store(new KnownContents(), 1, 0);
    const reader = await scratch.database.connect();
    await reader.query('BEGIN; SELECT FROM spans');
    await expect(dropOn(60, 30)).rejects.toMatchObject({ code: '55P03' });
    expect(await deleteOn(60, 30)).toEqual(0);
    expect(await orphans()).toEqual([]);
    await reader.query('COMMIT');
    reader.release();
    expect(await upkeep(60, 30)).toEqual(1);
  });

  test('thousands, a thousand at a time', async () => {
    await scratch.rows(
      `INSERT INTO resources (workspace_id, id, attributes, schema_url, dropped_attributes, scope_name,
         scope_version, scope_attributes, scope_schema_url, scope_dropped_attributes, last_used_on)
       SELECT 1, gen_random_uuid(), '{}', '', 0, '', '', '{}', '', 0, '2026-01-01'
         FROM generate_series(1, 2500)`,
    );
    expect(await upkeep(0, 1)).toEqual(2500);
  });
});

describe('ingest beside it', () => {
  test('a process that stored a resource long ago stores it again with its next rows', async () => {
    const known = new KnownContents();
    await store(known, 1, 0);
    expect(await upkeep(60, 30)).toEqual(1);
    await store(known, 1, 60);
    expect(await orphans()).toEqual([]);
    expect(await count('resources')).toEqual(1);
  });

  test('each day of use is stored once, by whatever process has rows first', async () => {
    const [one, other] = [new KnownContents(), new KnownContents()];
    const versions = () =>
      scratch.rows('SELECT xmin::text, last_used_on::text AS day FROM resources');
    await store(one, 1, 0);
    const first = await versions();
    await store(one, 1, 0);
    await store(other, 1, 0);
    expect(await versions()).toEqual(first);
    await store(other, 1, 1);
    const second = await versions();
    expect(second).toEqual([
      { xmin: expect.not.stringMatching(`^${first[0]?.xmin}$`), day: '2026-11-21' },
    ]);
    // Rows of the day before, which arrive late, move nothing back.
    await store(one, 1, 1);
    await store(new KnownContents(), 1, 0);
    expect(await versions()).toEqual(second);
  });

  test('a resource that a batch under way uses again is not deleted', async () => {
    await store(new KnownContents(), 1, 0);
    await ensureDay(scratch.database, NOON_MS + 60 * DAY_MS);
    const ingest = await scratch.database.connect();
    // The row locks of a batch before its commit.
    await ingest.query(`BEGIN; UPDATE resources SET last_used_on = '2027-01-19'`);
    expect(await upkeep(60, 30)).toEqual(0);
    await ingest.query('COMMIT');
    ingest.release();
    expect(await upkeep(60, 30)).toEqual(0);
    expect(await count('resources')).toEqual(1);
  });

  test('a batch that meets a deletion under way stores the resource again after it', async () => {
    const known = new KnownContents();
    await store(known, 1, 0);
    await dropOn(35, 30);
    const deletion = await scratch.database.connect();
    await deletion.query('BEGIN; DELETE FROM resources');
    const stored = store(known, 1, 60);
    await scratch.blocked();
    await deletion.query('COMMIT');
    deletion.release();
    await stored;
    expect(await orphans()).toEqual([]);
  });

  test('processes that ingest for weeks beside upkeep refer to nothing that is gone', async () => {
    const processes = [new KnownContents(), new KnownContents(), new KnownContents()];
    let deleted = 0;
    for (let day = 0; day < 60; day += day % 6 === 5 ? 10 : 1) {
      // After ten days without rows some resources are gone that the processes remember.
      const ingest = processes.map(async (known, at) => {
        await store(known, at, day);
        await store(known, 3 + ((day * 7 + at * 5) % 11), day);
      });
      const [one, other] = await Promise.all([
        upkeepBesideAnother(day, 1),
        upkeepBesideAnother(day, 1),
        ...ingest,
      ]);
      deleted += Number(one) + Number(other);
      expect(await orphans()).toEqual([]);
      expect(await count('spans')).toBeGreaterThan(0);
    }
    expect(deleted).toBeGreaterThan(0);
  });
});
