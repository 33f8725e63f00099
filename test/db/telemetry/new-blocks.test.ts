/** The codec of new blocks: zstd when every process reads it, and brotli before. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { inTransaction } from '../../../src/db/database.ts';
import { beat, endLeasesOfDead, leave, register } from '../../../src/db/runs/processes.ts';
import { BROTLI, USE_ZSTD_NODE, ZSTD } from '../../../src/db/telemetry/codecs.ts';
import { lockCodec, switchToZstd } from '../../../src/db/telemetry/new-blocks.ts';
import { OperatorError } from '../../../src/errors.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE processes');
  await scratch.database.query('UPDATE new_blocks SET codec = $1', [BROTLI]);
});

const recorded = async (): Promise<unknown> => {
  const [row] = await scratch.rows('SELECT codec FROM new_blocks');
  return row?.codec;
};

/** Resolves when a statement waits for a lock. */
const untilLocked = (): Promise<unknown> => {
  const waiting = () =>
    scratch.rows(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
  const what = 'a statement waits for a lock';
  return waitFor(async () => (await waiting()).length > 0, { withinMs: 20_000, what });
};

test('a process that reads brotli only prevents zstd until it has left', async () => {
  const [older, newer] = [randomUUID(), randomUUID()];
  expect(await register(scratch.database, older, false)).toBe(BROTLI);
  expect(await register(scratch.database, newer, true)).toBe(BROTLI);
  expect(await beat(scratch.database, newer)).toMatchObject({ codec: BROTLI, maySwitch: false });
  expect(await switchToZstd(scratch.database)).toBe(false);
  expect(await recorded()).toBe(BROTLI);

  await leave(scratch.database, older);
  expect(await beat(scratch.database, newer)).toMatchObject({ codec: BROTLI, maySwitch: true });
  expect(await switchToZstd(scratch.database)).toBe(true);
  expect(await recorded()).toBe(ZSTD);
  expect(await beat(scratch.database, newer)).toMatchObject({ codec: ZSTD, maySwitch: false });
  expect(await switchToZstd(scratch.database)).toBe(false);
});

test('one that was silent prevents zstd until it is found dead', async () => {
  const [silent, newer] = [randomUUID(), randomUUID()];
  await register(scratch.database, silent, false);
  await register(scratch.database, newer, true);
  await scratch.database.query(
    `UPDATE processes SET seen_at = now() - interval '1 minute' WHERE id = $1`,
    [silent],
  );
  expect(await switchToZstd(scratch.database)).toBe(false);
  await endLeasesOfDead(scratch.database);
  expect(await switchToZstd(scratch.database)).toBe(true);
  // It was only paused, and comes back.
  await expect(beat(scratch.database, silent, false)).rejects.toThrow(OperatorError);
});

test.each([
  ['by itself', true, true],
  ['when it does not read zstd', false, false],
])('a first beat may switch %s', async (_when, readsZstd, maySwitch) => {
  const found = await beat(scratch.database, randomUUID(), readsZstd);
  expect(found).toEqual({ hasDead: false, codec: BROTLI, maySwitch });
});

test('a process that does not read zstd is refused where new blocks have it', async () => {
  await switchToZstd(scratch.database);
  const starting = register(scratch.database, randomUUID(), false);
  await expect(starting).rejects.toThrow(OperatorError);
  await expect(starting).rejects.toThrow(USE_ZSTD_NODE);
  await expect(starting).rejects.not.toThrow('\n');
  expect(await scratch.rows('SELECT FROM processes')).toEqual([]);
  expect(await register(scratch.database, randomUUID(), true)).toBe(ZSTD);
});

describe('at the same moment', () => {
  test('a switch waits for a process that registers, and sees it', async () => {
    const switching = await inTransaction(scratch.database, async (connection) => {
      expect(await lockCodec(connection, false)).toBe(BROTLI);
      const result = switchToZstd(scratch.database);
      await untilLocked();
      await connection.query('INSERT INTO processes VALUES ($1, now(), false)', [randomUUID()]);
      return { result };
    });
    expect(await switching.result).toBe(false);
    expect(await recorded()).toBe(BROTLI);
  });

  test('a process that registers waits for a switch, and is refused', async () => {
    const registering = await inTransaction(scratch.database, async (connection) => {
      await connection.query('UPDATE new_blocks SET codec = $1', [ZSTD]);
      const result = register(scratch.database, randomUUID(), false);
      result.catch(() => {});
      await untilLocked();
      return { result };
    });
    await expect(registering.result).rejects.toThrow(USE_ZSTD_NODE);
    expect(await scratch.rows('SELECT FROM processes')).toEqual([]);
  });
});
