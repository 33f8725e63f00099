/** A clock that is wrong deletes nothing; very many workspaces take few statements, and a stop ends them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseClock } from '../../../src/db/database-clock.ts';
import { upkeepPartitions } from '../../../src/db/retention/partition-upkeep.ts';
import { Retention } from '../../../src/db/retention/retention.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

const DAY_MS = 86_400_000;

let scratch: MigratedDatabase;
beforeEach(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, Date.now() - 100 * DAY_MS);
});
afterEach(() => scratch.close());

async function partitionsAfter(shownMs: () => number): Promise<number> {
  const clock = new DatabaseClock(scratch.database, { clockCompared: () => {} }, shownMs);
  const retention = new Retention({ telemetry: 30, runs: 0, findings: 0 });
  const events = { partitionsChanged: () => {}, outdatedDeleted: () => {} };
  await upkeepPartitions(scratch.database, clock, retention, events, async () => {});
  return await spanDays();
}

async function spanDays(): Promise<number> {
  const [row] = await scratch.rows(
    "SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'hot_blocks'::regclass",
  );
  return Number(row?.n);
}

test.each([40, -40])(
  'a process %d days off drops nothing, and one that agrees does',
  async (days) => {
    const before = await partitionsAfter(() => Date.now() + days * DAY_MS);
    expect(await partitionsAfter(() => Date.now() + days * DAY_MS)).toBe(before);
    expect(await partitionsAfter(Date.now)).toBe(before - 1);
  },
);

describe('20,500 workspaces', () => {
  const WORKSPACES = 20_500;
  /** those with old runs */
  const OLD = [1, 1000, 1001, 20_500];

  beforeEach(async () => {
    await scratch.database.query(
      `INSERT INTO workspaces (slug, name, redact_excerpts)
         SELECT 'w' || n, 'W', n = 7 FROM generate_series(1, $1::int) AS n`,
      [WORKSPACES],
    );
    await scratch.database.query(
      `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records, title,
                         first_arrival_at, last_arrival_at)
       SELECT id, lpad(to_hex(id), 32, '0')::uuid, 'completed', 'evaluated', 1, 0, 'title', at, at
         FROM workspaces, LATERAL (
           SELECT CASE WHEN id = ANY ($1::int[]) THEN now() - interval '99 days' ELSE now() END
                    AS at) AS arrival
        WHERE id = ANY ($1::int[]) OR id IN (7, 8)`,
      [OLD],
    );
  });

  /** One turn. @returns its statements outside of transactions */
  async function upkeep(
    stop: (statement: string) => boolean = () => false,
    runs = 0,
  ): Promise<readonly string[]> {
    const clock = new DatabaseClock(scratch.database, { clockCompared: () => {} });
    const retention = new Retention({ telemetry: 30, runs, findings: 0 });
    const events = { partitionsChanged: () => {}, outdatedDeleted: () => {} };
    const stopping = new AbortController();
    const query = scratch.database.query.bind(scratch.database);
    const statements: string[] = [];
    const watched = vi.spyOn(scratch.database, 'query').mockImplementation(((
      text: string,
      values: unknown[],
    ) => {
      statements.push(text);
      if (stop(text)) stopping.abort();
      return query(text, values);
    }) as never);
    try {
      await upkeepPartitions(
        scratch.database,
        clock,
        retention,
        events,
        async () => {},
        stopping.signal,
      );
    } finally {
      watched.mockRestore();
    }
    return statements;
  }

  const titled = async (): Promise<unknown> =>
    (
      await scratch.rows('SELECT workspace_id AS id FROM runs WHERE title IS NOT NULL ORDER BY 1')
    ).map(({ id }) => id);

  test('take one statement for each thousand, not for each', async () => {
    const ofTitles = (await upkeep()).filter((text) => text.includes('SET title = NULL'));
    // The last one finds that none is left.
    expect(ofTitles).toHaveLength(22);
    expect(await titled()).toEqual([8]);
    const ofRuns = (await upkeep(undefined, 60)).filter((text) => text.includes('"hasOld"'));
    expect(ofRuns).toHaveLength(22);
    expect(await scratch.rows('SELECT workspace_id AS id FROM runs ORDER BY 1')).toEqual([
      { id: 7 },
      { id: 8 },
    ]);
  });

  test('a stop ends the turn after its statement; partitions are dropped before', async () => {
    let seen = 0;
    const statements = await upkeep((text) => {
      if (text.includes('SET title = NULL')) seen += 1;
      return seen === 2;
    }, 60);
    expect(statements.at(-1)).toContain('SET title = NULL');
    expect(await titled()).toEqual([8, 20_500]);
    expect(await spanDays()).toBe(3);
    expect(await scratch.rows('SELECT FROM runs')).toHaveLength(OLD.length + 2);
  });

  test('a stop before the first partition is dropped leaves all of them', async () => {
    const before = await spanDays();
    await upkeep((text) => text.includes('relname'));
    // Those of today and the days ahead were made.
    expect(await spanDays()).toBe(before + 3);
  });
});
