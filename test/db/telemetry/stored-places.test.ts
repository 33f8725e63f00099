/** The places of runs, and blocks that are read by their ids, of which some are damaged or missing. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';

import { BLOCK_BYTES_MAX } from '../../../src/db/telemetry/block-codec.ts';
import {
  type BlockKey,
  type BlockText,
  readBlocks,
} from '../../../src/db/telemetry/stored-blocks.ts';
import { findPlaces } from '../../../src/db/telemetry/stored-places.ts';
import { recordsOf } from '../../../src/otlp/lines/block-records.ts';
import { toEnd } from '../../../src/otlp/pieces.ts';
import type { MigratedDatabase } from '../../support/database.ts';
import {
  DAY_MS,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  type RowsRequest,
  spanRow,
} from '../../support/rows.ts';
import { dayOf, openStoredRun, type StoredRun } from '../../support/stored-runs.ts';

let scratch: MigratedDatabase;
let store: StoredRun['store'];

beforeAll(async () => {
  ({ scratch, store } = await openStoredRun());
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, hot_places, places, hot_blocks, blocks');
});

const runOf = (number: number, days = 0) => ({
  workspaceId: 1,
  runId: hex16(number),
  firstArrivalOn: dayOf(NOON_MS + days * DAY_MS),
  lastArrivalOn: dayOf(NOON_MS + days * DAY_MS),
});
const span = (run: number, id: number, name = 'a') =>
  spanRow({ traceId: hex16(run), spanId: hex8(id), name });

const find = (runs: ReturnType<typeof runOf>[], placesMax = 100) =>
  findPlaces(scratch.database, runs, placesMax);
const placesOf = async (...runs: ReturnType<typeof runOf>[]) =>
  (await find(runs)).map(({ total, places }) => [total, places.map(({ records }) => records)]);

/** All blocks in the order of arrival. */
async function keys(): Promise<BlockKey[]> {
  const rows = await scratch.rows(
    `SELECT block_id AS "blockId", arrived_on::text AS "arrivedOn" FROM hot_blocks ORDER BY arrived_on, block_id`,
  );
  return rows as unknown as BlockKey[];
}

async function read(of: readonly BlockKey[]): Promise<BlockText[]> {
  const texts: BlockText[] = [];
  for await (const text of readBlocks(scratch.database, of)) texts.push(text);
  return texts;
}

/** What a block gives: the names of its records, or why it cannot be read. */
function outcomeOf(block: BlockText): string | readonly string[] {
  if ('error' in block) return block.error.message;
  return toEnd(recordsOf(block.signal, block.text, [0, 100])).map(({ bytes }) => {
    const { name, eventName } = JSON.parse(bytes.toString());
    return name ?? eventName;
  });
}

describe('places', () => {
  test('say which records of a block belong to each run, in the order of the request', async () => {
    await store({ spans: [span(1, 1), span(2, 2), span(1, 3), span(1, 4)] });
    expect(await placesOf(runOf(2), runOf(3), runOf(1))).toEqual([
      [1, [[1, 2]]],
      [0, []],
      [3, [[0, 1, 2, 4]]],
    ]);
  });

  test('of spans and of log records come in the order of arrival', async () => {
    const log = (number: number) => logRow({ traceId: hex16(number) });
    await store({ spans: [span(1, 1)] }, { arrivedAtMs: NOON_MS + DAY_MS });
    await store({ logs: [log(2), logRow(), log(1)] });
    await store({ spans: [span(1, 2), span(1, 3)] }, { arrivedAtMs: NOON_MS + 1 });
    const [found] = await find([{ ...runOf(1), lastArrivalOn: dayOf(NOON_MS + DAY_MS) }]);
    expect(found).toMatchObject({
      total: 4,
      places: [
        { arrivedOn: '2026-11-20', records: [2, 3], isInPart: true, isHot: true },
        { arrivedOn: '2026-11-20', records: [0, 2], isInPart: true, isHot: true },
        { arrivedOn: '2026-11-21', records: [0, 1], isInPart: true, isHot: true },
      ],
    });
    expect(found?.places.map(({ blockId }) => blockId)).toEqual(
      (await keys()).map(({ blockId }) => blockId),
    );
  });

  test('are of the run’s workspace and days, with one day to spare', async () => {
    await store({ spans: [span(1, 1)] }, { workspaceId: 2 });
    for (const days of [0, 1, 4]) {
      await store({ spans: [span(1, days + 2)] }, { arrivedAtMs: NOON_MS + days * DAY_MS });
    }
    const daysOf = async (run: ReturnType<typeof runOf>) =>
      (await find([run])).flatMap(({ places }) => places.map(({ arrivedOn }) => arrivedOn));
    expect(await daysOf(runOf(1))).toEqual(['2026-11-20', '2026-11-21']);
    expect(await daysOf(runOf(1, 4))).toEqual(['2026-11-24']);
  });

  test('are the first that arrived, up to their maximum number', async () => {
    for (const at of [0, 1, 2]) {
      await store({ spans: [span(1, at + 1)] }, { arrivedAtMs: NOON_MS + at });
    }
    const [found] = await find([runOf(1)], 2);
    const [first, second] = await keys();
    expect(found?.total).toBe(3);
    expect(found?.places).toMatchObject([
      { blockId: first?.blockId },
      { blockId: second?.blockId },
    ]);
  });

  test('that are damaged have no records', async () => {
    await store({ spans: [span(1, 1)] });
    await scratch.rows(`UPDATE hot_places SET records = '\\x80'`);
    expect(await placesOf(runOf(1))).toEqual([[1, [[]]]]);
  });

  // The plan of a cluster is the workers'.
  test.skipIf(inject('placement') === 'distributed')(
    'are looked up by their index, in the partitions of the run’s days only',
    async () => {
      await scratch.rows(
        `INSERT INTO hot_places (block_id, run_id, workspace_id, arrived_on, records)
         SELECT gen_random_uuid(), gen_random_uuid(), 1, '2026-11-20', '\\x0001'
           FROM generate_series(1, 20000)`,
      );
      const plans: string[] = [];
      const explaining = {
        query: async (text: string, values: unknown[]) => {
          const { rows } = await scratch.database.query(`EXPLAIN ${text}`, values);
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          return { rows: [] };
        },
      };
      await findPlaces(explaining as never, [runOf(1)], 9).catch(() => {});
      expect(plans.join()).not.toMatch(/Seq Scan on (hot_)?places/);
      const partitions = new Set(plans.join().match(/\b(hot_)?places_\d{4}_\d\d_\d\d\b(?!_)/g));
      expect([...partitions].sort()).toEqual(
        ['hot_places', 'places'].flatMap((table) => [`${table}_2026_11_20`, `${table}_2026_11_21`]),
      );
    },
  );
});

describe('blocks', () => {
  test('are read in the order of their keys, whatever their signal and day', async () => {
    await store({ spans: [span(1, 1, 'a')] });
    await store({ logs: [logRow({ eventName: 'b' })] }, { arrivedAtMs: NOON_MS + DAY_MS });
    await store({ spans: [span(1, 2, 'c')] }, { arrivedAtMs: NOON_MS + 1 });
    const [a, c, b] = await keys();
    const blocks = await read([b, a, c] as BlockKey[]);
    expect(blocks).toMatchObject([
      { ...b, signal: 'logs' },
      { ...a, signal: 'traces' },
      { ...c, signal: 'traces' },
    ]);
    expect(blocks.map(outcomeOf)).toEqual([['b'], ['a'], ['c']]);
  });

  test('many of them, and long ones among them', async () => {
    const long = JSON.stringify({ k: 'x'.repeat(BLOCK_BYTES_MAX) });
    for (let at = 0; at < 70; at += 1) {
      const attributes = at === 1 || at === 40 ? long : '{}';
      const spans: RowsRequest['spans'] = [{ ...span(1, 1, `n${at}`), attributes }];
      await store({ spans }, { arrivedAtMs: NOON_MS + at });
    }
    const blocks = await read(await keys());
    expect(blocks.map(outcomeOf)).toEqual(Array.from({ length: 70 }, (_, at) => [`n${at}`]));
  });

  test('that are damaged or missing are answers, and the others are read', async () => {
    for (const at of [0, 1, 2, 3, 4]) {
      await store({ spans: [span(1, 1, `n${at}`)] }, { arrivedAtMs: NOON_MS + at });
    }
    const all = await keys();
    const [cut, missing, , codec, signal] = all.map(({ blockId }) => blockId);
    const change = (sets: string, id = hex16(0)) =>
      scratch.rows(`UPDATE hot_blocks SET ${sets} WHERE block_id = $1`, [id]);
    await change('data = substr(data, 2)', cut);
    await scratch.rows('DELETE FROM hot_blocks WHERE block_id = $1', [missing]);
    await change('codec = 9', codec);
    await change('signal = 9', signal);
    expect((await read(all)).map(outcomeOf)).toEqual([
      `Block ${cut} cannot be read: its checksum differs.`,
      `Block ${missing} cannot be read: it is missing.`,
      ['n2'],
      `Block ${codec} cannot be read: codec 9 is not known.`,
      `Block ${signal} cannot be read: its signal is not known.`,
    ]);
  });

  test('of a reader that stops are not read further', async () => {
    for (const at of [0, 1]) {
      await store({ spans: [span(1, 1, `n${at}`)] }, { arrivedAtMs: NOON_MS + at });
    }
    const reading = readBlocks(scratch.database, await keys());
    const { value } = await reading.next();
    expect(value === undefined ? null : outcomeOf(value)).toEqual(['n0']);
    await reading.return();
    expect(await reading.next()).toEqual({ done: true, value: undefined });
  });

  test('an error of the database is thrown', async () => {
    const broken = { query: async () => Promise.reject(new Error('gone')) };
    const reading = readBlocks(broken as never, [{ blockId: hex16(1), arrivedOn: '2026-11-20' }]);
    await expect(reading.next()).rejects.toThrow('gone');
  });
});
