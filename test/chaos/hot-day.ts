/**
 * Lets days pass: what arrived today becomes what arrived on an earlier day, and the times that the upkeep waits
 * for are over. Then the servers pack that day and drop it; `dropHotDay` waits until they have.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { createDatabase } from '../../src/db/database.ts';
import { ensureDay, partitionName } from '../../src/db/telemetry/partitions.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Cluster } from './cluster.ts';

/** Settings of servers whose hot days end: days further in the past are kept. */
export const HOT_DAY_SETTINGS = { HOT_DAYS: '1', RETENTION_DAYS: '3650' };

const MOVED_WITHIN_MS = 60_000;
const DROPPED_WITHIN_MS = 240_000;
/** A turn of the upkeep, which begins when a server starts. */
const TURN_MS = 40_000;
/** The upkeep waits so long for its first statement, so that the server runs when it begins to pack. */
const HELD_SECONDS = 4;
/** Packing takes less. */
const DISTURBED_WITHIN_MS = 500;

interface Parts {
  readonly cluster: Cluster;
  /** numbers from 0 to below 1 */
  readonly random: () => number;
  /** Starts a server again, whose upkeep begins then. */
  readonly restart: () => Promise<void>;
  /** Another fault, while the day is packed or dropped. */
  readonly disturb: () => Promise<void>;
  /** what the server has logged since then */
  readonly log: () => string;
}

/** A day before all days that have tables, and past HOT_DAYS. */
const EARLIER_DAY = `
  SELECT (extract(epoch FROM least(current_date - 2, min(to_date(right(relname, 10), 'YYYY_MM_DD')) - 1)) * 1000)::float8 AS ms
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'blocks'::regclass`;

/**
 * Claims are void, as after a crash: who has read a run knows its places on the day before. Runs span the days
 * between.
 */
const moveTo = (day: string): string => `
  BEGIN;
  SET LOCAL lock_timeout = '2s';
  LOCK TABLE hot_blocks, hot_places, runs, leases, blocks, places IN ACCESS EXCLUSIVE MODE;
  TRUNCATE leases;
  ${['hot_blocks', 'hot_places', 'blocks', 'places']
    .map(
      (table) => `UPDATE ${table} SET arrived_on = '${day}' WHERE arrived_on >= current_date - 1
        ${table === 'blocks' ? 'AND signal <> 2' : ''};`,
    )
    .join('\n')}
  UPDATE runs SET first_arrival_at = '${day}' WHERE first_arrival_at >= current_date - 1;
  COMMIT`;

/** Moves what arrived on the last days. @returns the day to which it was moved */
async function moveToPast({ ask, url, port }: Cluster): Promise<string> {
  const dayMs = Number((await ask(EARLIER_DAY))[0]?.ms);
  const day = new Date(dayMs).toISOString().slice(0, 10);
  // As the servers' role, which will drop the tables.
  const database = createDatabase(url(port()), 1, { connectionLost: () => undefined });
  try {
    await ensureDay(database, dayMs);
  } finally {
    await database.end();
  }
  const move = () =>
    ask(moveTo(day)).then(
      () => true,
      // A transaction had a lock; the servers' statements come first.
      () => false,
    );
  await waitFor(move, { withinMs: MOVED_WITHIN_MS, what: 'what arrived is moved to the past' });
  return day;
}

/** Ends the hot day of all that has arrived; resolves when its tables are gone. */
export async function dropHotDay({ cluster, random, restart, disturb, log }: Parts): Promise<void> {
  const day = await moveToPast(cluster);
  const held = cluster.ask(`BEGIN; LOCK TABLE hot_days; SELECT pg_sleep(${HELD_SECONDS}); COMMIT`);
  await Promise.all([held, restart()]);
  await sleep(random() * DISTURBED_WITHIN_MS);
  await disturb();
  for (const table of ['hot_places', 'hot_blocks'] as const) {
    const name = partitionName(table, day);
    const isGone = async (): Promise<boolean> => {
      const rows = await cluster
        .ask('SELECT WHERE to_regclass($1) IS NULL', [name])
        .catch(() => []);
      return rows.length > 0;
    };
    const turn = async (): Promise<boolean> => {
      if (await isGone()) return true;
      // The process that packed may have been killed, and readers may have found hot places.
      await cluster
        .ask(
          `UPDATE hot_days SET lease_until = now(), places_dropped_at = places_dropped_at - interval '2 hours'
            WHERE day = $1`,
          [day],
        )
        .catch(() => []);
      await restart();
      const endsAt = performance.now() + TURN_MS;
      while (performance.now() < endsAt) {
        if (await isGone()) return true;
        await sleep(100);
      }
      return false;
    };
    await waitFor(turn, {
      withinMs: DROPPED_WITHIN_MS,
      what: () => `${name} is dropped:\n${log()}`,
    });
  }
}
