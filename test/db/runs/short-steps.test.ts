/** Runs that are short together are read as any others are: the same steps, in the same order. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import type { RunToRead } from '../../../src/db/runs/run-to-read.ts';
import { type ReadLimits, readStepsOfRuns } from '../../../src/reads/steps-of-runs.ts';
import type { MigratedDatabase } from '../../support/migrated-database.ts';
import { DAY_MS, hex8, hex16, logRow, NOON_MS, spanRow } from '../../support/rows.ts';
import { dayOf, openStoredRun, type StoredRun } from '../../support/stored-run.ts';

let scratch: MigratedDatabase;
let store: StoredRun['store'];

beforeAll(async () => {
  ({ scratch, store } = await openStoredRun());
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, spans, log_records, resources');
});

const run = (number: number): RunToRead => ({
  workspaceId: 1,
  runId: hex16(number),
  firstArrivalOn: dayOf(NOON_MS),
  lastArrivalOn: dayOf(NOON_MS + DAY_MS),
});

/** What a reading answers, and how many statements about steps it took. */
async function reading(runs: readonly RunToRead[], limits?: Partial<ReadLimits>) {
  const query = vi.spyOn(scratch.database, 'query');
  const steps = await readStepsOfRuns(scratch.database, runs, limits);
  const texts = query.mock.calls.map((call) => {
    const [statement]: unknown[] = call;
    return String(
      typeof statement === 'string' ? statement : Reflect.get(Object(statement), 'text'),
    );
  });
  query.mockRestore();
  return { steps, statements: texts.filter((text) => text.includes('log_records')).length };
}

const attributes = (text: string): string => JSON.stringify({ text });

/** Short runs: ties, log records, texts that are compressed, stored apart, or of several bytes a letter. */
async function storeShort(): Promise<void> {
  const of = (number: number) => ({ traceId: hex16(number) });
  const texts = ['', 'é'.repeat(60), 'x'.repeat(120), 'é'.repeat(50_000)];
  const apart = randomBytes(20_000).toString('base64');
  await store({
    spans: [
      ...texts.map((text, place) =>
        spanRow({ ...of(1), spanId: hex8(place + 1), attributes: attributes(text) }),
      ),
      spanRow({ ...of(1), spanId: hex8(9), parentSpanId: hex8(2), name: 'child' }),
      spanRow({ ...of(1), spanId: hex8(9), parentSpanId: hex8(2), name: 'child' }),
      spanRow({
        ...of(2),
        statusCode: 2,
        statusMessage: apart,
        attributes: attributes(apart),
        events: JSON.stringify([{ name: 'e', attributes: { apart } }]),
        droppedEvents: 3,
      }),
    ],
    logs: [
      logRow({ ...of(1), spanId: hex8(2), body: attributes('é'), eventName: 'event' }),
      logRow({ ...of(4), timeUnixNano: '0', observedUnixNano: '7', body: null }),
    ],
  });
  await store(
    { spans: [spanRow({ ...of(1), spanId: hex8(5), name: 'the next day' })] },
    { arrivedAtMs: NOON_MS + DAY_MS },
  );
}

// A cluster reads them shard by shard.
const testPlain = test.skipIf(inject('placement') === 'distributed');

testPlain(
  'in one statement, with the steps, order and sizes that the statement for any run gives',
  async () => {
    await storeShort();
    const few = [1, 2, 3, 4].map(run);
    const short = await reading(few);
    expect(short.statements).toBe(1);
    expect(short.steps.map((one) => one?.steps.length)).toEqual([7, 1, 0, 1]);
    expect(short.steps[0]?.repeats).toBe(1);

    const many = Array.from({ length: 2001 }, (_, index) =>
      spanRow({ traceId: hex16(5), spanId: hex8(index + 1) }),
    );
    await store({ spans: many });
    const any = await reading([...few, run(5)]);
    expect(any.statements).toBe(2);
    for (const [place, one] of short.steps.entries()) {
      const { bytes = 0, ...others } = any.steps[place] ?? {};
      expect(one).toMatchObject(others);
      // Of texts that are stored apart, four bytes each are not counted.
      expect(Math.abs(bytes - (one?.bytes ?? Number.NaN))).toBeLessThanOrEqual(12);
    }
    expect(any.steps[4]?.steps).toHaveLength(2001);
  },
);

testPlain(
  'what is stored small and read large is not short, nor is what has many small rows',
  async () => {
    const large = attributes('x'.repeat(100_000));
    const rows = Array.from({ length: 300 }, () => spanRow({ traceId: hex16(2) }));
    await store({ spans: [spanRow({ traceId: hex16(1), attributes: large }), ...rows] });
    expect(await reading([run(1)], { togetherBytesMax: 110_000 })).toMatchObject({ statements: 1 });
    expect(await reading([run(1)], { togetherBytesMax: 90_000 })).toMatchObject({ statements: 2 });
    expect(await reading([run(2)], { togetherBytesMax: 90_000 })).toMatchObject({ statements: 2 });
  },
);

test('runs that were removed since they were claimed have no steps', async () => {
  await storeShort();
  const { steps } = await reading([run(7), run(4), run(8)]);
  expect(steps.map((one) => one?.steps.length)).toEqual([0, 1, 0]);
  const { steps: none } = await reading([run(7)]);
  expect(none).toEqual([{ steps: [], bytes: 0, unread: 0, repeats: 0 }]);
});
