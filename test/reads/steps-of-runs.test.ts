/** The steps of a run, read back: what they hold, in which order, and within which limits. */

import { brotliCompressSync } from 'node:zlib';

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { checksumOf } from '../../src/db/telemetry/block-codec.ts';
import { isUnreadable, type ReadLimits, readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import type { MigratedDatabase } from '../support/database.ts';
import { otlpBody } from '../support/decoding.ts';
import {
  DAY_MS,
  decodedRequest,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  type RowsRequest,
  resourceRow,
  spanRow,
  TRACE_ID,
} from '../support/rows.ts';
import {
  dayOf,
  NO_STEPS,
  openStoredRun,
  RUN,
  readSteps,
  type StoredRun,
} from '../support/stored-runs.ts';

let scratch: MigratedDatabase;
let store: StoredRun['store'];

beforeAll(async () => {
  ({ scratch, store } = await openStoredRun());
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, hot_places, places, hot_blocks, blocks');
});

const NOTHING_LOST = { blocks: 0, steps: 0 };

/** Bytes of the records of a request with one resource. */
function sizesOf(fields: Partial<RowsRequest>): number[] {
  const { resourceSpans } = JSON.parse(otlpBody(decodedRequest(fields)).toString());
  const spans: object[] = resourceSpans[0].scopeSpans[0].spans;
  return spans.map((span) => Buffer.byteLength(JSON.stringify(span)));
}

const names = async (limits?: { stepsMax: number; bytesMax: number }): Promise<string[]> =>
  (await readSteps(scratch.database, RUN, limits)).steps.map(({ name }) => name);

test('a span, whole', async () => {
  await store({
    spans: [
      spanRow({
        parentSpanId: hex8(9),
        name: 'chat',
        startUnixNano: '1763640000000000001',
        endUnixNano: '9223372036854775807',
        statusCode: 2,
        statusMessage: 'broke',
        attributes: '{"a":{"b":[1,"é"]}}',
        events: '[{"name":"e","timeUnixNano":"5","attributes":{"k":"v"}},{}]',
        flags: 0x301,
        droppedAttributes: 4_294_967_295,
        droppedEvents: 2,
      }),
    ],
  });
  expect(await readSteps(scratch.database, RUN)).toEqual({
    bytes: expect.any(Number),
    hot: [],
    steps: [
      {
        source: 'span',
        spanId: hex8(1),
        parentSpanId: hex8(9),
        name: 'chat',
        startUnixNano: '1763640000000000001',
        endUnixNano: '9223372036854775807',
        statusCode: 2,
        statusMessage: 'broke',
        scopeName: 'scope',
        serviceName: 'agent',
        attributes: { a: { b: [1, 'é'] } },
        events: [
          { name: 'e', timeUnixNano: '5', attributes: { k: 'v' } },
          { name: '', attributes: {}, timeUnixNano: '0' },
        ],
        body: null,
        dropped: 4_294_967_297,
        hasRemoteParent: true,
        arrivedOn: '2026-11-20',
        number: 1,
        twin: 0,
      },
    ],
    unread: 0,
    repeats: 0,
    unreadable: NOTHING_LOST,
  });
});

test('a log record, with and without a span, a time and a name', async () => {
  await store({
    logs: [
      logRow({
        traceId: TRACE_ID,
        spanId: hex8(7),
        timeUnixNano: '10',
        eventName: 'gen_ai.choice',
        body: '{"text":"hi"}',
        attributes: '{"k":1}',
        droppedAttributes: 3,
      }),
      logRow({
        traceId: TRACE_ID,
        timeUnixNano: '0',
        observedUnixNano: '20',
        body: null,
      }),
    ],
  });
  const plain = {
    source: 'log',
    parentSpanId: null,
    statusCode: 0,
    statusMessage: '',
    events: [],
    dropped: 0,
    hasRemoteParent: false,
    arrivedOn: '2026-11-20',
    twin: 0,
  };
  expect(await readSteps(scratch.database, RUN)).toEqual({
    bytes: expect.any(Number),
    hot: [],
    steps: [
      {
        ...plain,
        number: 1,
        dropped: 3,
        spanId: hex8(7),
        name: 'gen_ai.choice',
        startUnixNano: '10',
        endUnixNano: '10',
        scopeName: 'scope',
        serviceName: 'agent',
        attributes: { k: 1 },
        body: { text: 'hi' },
      },
      {
        ...plain,
        number: 2,
        spanId: null,
        name: '',
        startUnixNano: '20',
        endUnixNano: '20',
        scopeName: 'scope',
        serviceName: 'agent',
        attributes: {},
        body: null,
      },
    ],
    unread: 0,
    repeats: 0,
    unreadable: NOTHING_LOST,
  });
});

test('in the order of time, parents before children, spans before log records', async () => {
  const span = (name: string, id: number, startUnixNano: string, endUnixNano: string) =>
    spanRow({ name, spanId: hex8(id), startUnixNano, endUnixNano });
  await store({
    spans: [
      span('late', 1, '99', '100'),
      span('inner', 2, '5', '7'),
      span('outer', 3, '5', '50'),
      span('twin b', 5, '5', '6'),
      span('twin a', 4, '5', '6'),
      span('long digits', 6, '1000', '1001'),
    ],
    logs: [
      logRow({ traceId: TRACE_ID, spanId: hex8(4), timeUnixNano: '5', eventName: 'log at 5' }),
      logRow({ traceId: TRACE_ID, spanId: hex8(6), timeUnixNano: '100', eventName: 'log at 100' }),
    ],
  });
  expect(await names()).toEqual([
    'outer',
    'inner',
    'twin a',
    'twin b',
    'log at 5',
    'late',
    'log at 100',
    'long digits',
  ]);
});

test('a parent before its child, also when both start and end together and the child arrived first', async () => {
  const together = { startUnixNano: '5', endUnixNano: '6' };
  await store({
    spans: [
      spanRow({ name: 'child', spanId: hex8(1), parentSpanId: hex8(9), ...together }),
      spanRow({ name: 'parent', spanId: hex8(9), ...together }),
    ],
  });
  expect(await names()).toEqual(['parent', 'child']);
});

test('from all days, and of this workspace and run alone', async () => {
  await store({ spans: [spanRow({ name: 'second', startUnixNano: '2' })] });
  await store(
    { spans: [spanRow({ name: 'first', startUnixNano: '1' })] },
    { arrivedAtMs: NOON_MS + DAY_MS },
  );
  await store({ spans: [spanRow({ name: 'other workspace' })] }, { workspaceId: 2 });
  await store({
    spans: [spanRow({ name: 'other run', traceId: hex16(5) })],
    logs: [logRow({ eventName: 'no run' })],
  });
  expect(await names()).toEqual(['first', 'second']);
});

test('from the days of its arrival and one beside them; what lies outside counts as unread', async () => {
  for (const [name, days] of [
    ['first', 0],
    ['beside', 1],
    ['outside', 4],
  ] as const) {
    const span = spanRow({ name, startUnixNano: `${days}` });
    await store({ spans: [span] }, { arrivedAtMs: NOON_MS + days * DAY_MS });
  }
  const oneDay = { ...RUN, lastArrivalOn: RUN.firstArrivalOn };
  const { steps, unread } = await readSteps(scratch.database, oneDay);
  expect(steps.map(({ name }) => name)).toEqual(['first', 'beside']);
  expect(unread).toBe(1);
});

test('steps at the same time come by their names, however they arrived', async () => {
  await store({
    spans: ['c', 'a', 'd', 'b'].map((name) => spanRow({ name })),
    logs: ['z', 'y'].map((eventName) => logRow({ traceId: TRACE_ID, eventName })),
  });
  const before = await names();
  expect(before).toEqual(['a', 'b', 'c', 'd', 'y', 'z']);
  for (let again = 0; again < 3; again += 1) expect(await names()).toEqual(before);
});

describe('limits', () => {
  const four = (attributes: readonly string[]): Partial<RowsRequest> => ({
    spans: attributes.map((text, index) =>
      spanRow({ name: `${index}`, startUnixNano: `${index}`, attributes: text }),
    ),
  });

  test('the number of steps: the first are read, the rest is counted', async () => {
    await store(four(['{}', '{}', '{}', '{}']));
    const limits = { stepsMax: 3, bytesMax: 1e6 };
    expect(await names(limits)).toEqual(['0', '1', '2']);
    expect((await readSteps(scratch.database, RUN, limits)).unread).toBe(1);
    expect((await readSteps(scratch.database, RUN, { ...limits, stepsMax: 4 })).unread).toBe(0);
  });

  test('the bytes of their records: the first ones that fit together are read', async () => {
    const request = four(['{"k":"é"}', '{"k":"é"}', '{"k":"é"}', '{}']);
    await store(request);
    const [one = 0] = sizesOf(request);
    expect(await names({ stepsMax: 9, bytesMax: 3 * one })).toEqual(['0', '1', '2']);
    const limits = { stepsMax: 9, bytesMax: 3 * one - 1 };
    expect(await names(limits)).toEqual(['0', '1']);
    const { unread, bytes } = await readSteps(scratch.database, RUN, limits);
    expect({ unread, bytes }).toEqual({ unread: 2, bytes: 2 * one });
  });

  test('those that arrived first are read, whatever their times are', async () => {
    const late = spanRow({ name: 'late', startUnixNano: '1', spanId: hex8(2) });
    await store({ spans: [spanRow({ name: 'early', startUnixNano: '2' })] });
    await store({ spans: [late] });
    expect(await names({ stepsMax: 1, bytesMax: 1e6 })).toEqual(['early']);
    expect(await names({ stepsMax: 9, bytesMax: 1 })).toEqual(['early']);
  });

  test('of a service’s and a scope’s name, which come with every step, the beginning is read', async () => {
    const name = 'ł'.repeat(100_000);
    const attributes = JSON.stringify({ 'service.name': name });
    const resource = resourceRow({ attributes, scopeName: name });
    await store({ resources: [resource], spans: [spanRow()] });
    const { steps } = await readSteps(scratch.database, RUN);
    const beginning = 'ł'.repeat(256);
    expect(steps).toMatchObject([{ serviceName: beginning, scopeName: beginning }]);
  });

  test('a first step above the limit is read all the same, and the rest is counted', async () => {
    await store(four([JSON.stringify({ k: 'x'.repeat(1000) }), '{}']));
    const { steps, unread } = await readSteps(scratch.database, RUN, { stepsMax: 9, bytesMax: 10 });
    expect(steps.map(({ name }) => name)).toEqual(['0']);
    expect(unread).toBe(1);
  });

  test('of one evaluation: twenty thousand steps', async () => {
    await store({
      spans: Array.from({ length: 20_001 }, (_, index) => spanRow({ spanId: hex8(index + 1) })),
    });
    const { steps, unread } = await readSteps(scratch.database, RUN);
    expect([steps.length, unread]).toEqual([20_000, 1]);
  });
});

describe('a span that was sent again', () => {
  const again = spanRow({ attributes: '{"gen_ai.usage.input_tokens":7}' });
  const read = async (limits?: { stepsMax: number; bytesMax: number }) => {
    const { steps, unread, repeats } = await readSteps(scratch.database, RUN, limits);
    return { days: steps.map(({ arrivedOn }) => arrivedOn), unread, repeats };
  };
  const ONE_DAY = dayOf(NOON_MS);

  test('is one step, of the day on which it came first', async () => {
    await store({ spans: [again] }, { arrivedAtMs: NOON_MS + DAY_MS });
    await store({ spans: [again, again] });
    await store({ spans: [again] });
    expect(await read()).toEqual({ days: [ONE_DAY], unread: 0, repeats: 3 });
  });

  test('is one step, too, in a run of many steps and blocks', async () => {
    const others = Array.from({ length: 2000 }, (_, index) => spanRow({ spanId: hex8(index + 2) }));
    await store({ spans: [again, ...others] });
    await store({ spans: [again, ...others] });
    const { days, ...counts } = await read();
    expect([days.length, counts]).toEqual([2001, { unread: 0, repeats: 2001 }]);
  });

  test('counts among the steps that the limits allow', async () => {
    await store({ spans: [again, again, again, spanRow({ spanId: hex8(2) })] });
    expect(await read({ stepsMax: 2, bytesMax: 1e6 })).toEqual({
      days: [ONE_DAY],
      unread: 2,
      repeats: 1,
    });
  });

  test.each<[string, Partial<RowsRequest['spans'][number]>]>([
    ['another name', { name: 'b' }],
    ['other attributes', { attributes: '{"gen_ai.usage.input_tokens":8}' }],
    ['another end', { endUnixNano: '1763640001000000003' }],
    ['another parent', { parentSpanId: hex8(7) }],
    ['another status', { statusCode: 2 }],
    ['other links', { links: '[{}]' }],
    ['other events', { events: '[{"name":"e","timeUnixNano":"0","attributes":{}}]' }],
    ['another trace state', { traceState: 'a=b' }],
    ['another id', { spanId: hex8(3) }],
  ])('with %s is another step', async (_, fields) => {
    await store({ spans: [again, { ...again, ...fields }] });
    expect(await read()).toMatchObject({ days: [ONE_DAY, ONE_DAY], repeats: 0 });
  });

  test('of another run or with another resource is another step', async () => {
    const resources = [
      resourceRow(),
      resourceRow({ id: hex16(77), attributes: '{"service.name":"b"}' }),
    ];
    await store({
      resources,
      spans: [again, { ...again, resourceId: hex16(77) }, { ...again, traceId: hex16(2) }],
    });
    expect(await read()).toMatchObject({ days: [ONE_DAY, ONE_DAY], repeats: 0 });
    const runs = [RUN, { ...RUN, runId: hex16(2) }];
    const both = await readStepsOfRuns(scratch.database, runs);
    expect(both.map((one) => [one?.steps.length, one?.repeats])).toEqual([
      [2, 0],
      [1, 0],
    ]);
  });

  test('unlike a log record, which has no id: an equal one may be meant', async () => {
    const log = logRow({ traceId: TRACE_ID });
    await store({ logs: [log, log] });
    expect(await read()).toMatchObject({ days: [ONE_DAY, ONE_DAY], repeats: 0 });
  });
});

test('a run without steps has none', async () => {
  expect(await readSteps(scratch.database, RUN)).toEqual(NO_STEPS);
});

describe('several runs at once', () => {
  const run = (number: number, days = 0) => ({
    workspaceId: 1,
    runId: hex16(number),
    firstArrivalOn: dayOf(NOON_MS + days * DAY_MS),
    lastArrivalOn: dayOf(NOON_MS + days * DAY_MS),
  });
  const span = (number: number, name: string, attributes = '{}') =>
    spanRow({ traceId: hex16(number), name, attributes });
  const namesOf = async (runs: ReturnType<typeof run>[], limits?: Partial<ReadLimits>) =>
    (await readStepsOfRuns(scratch.database, runs, limits)).map((read) =>
      read === null ? 'too large' : [...read.steps.map(({ name }) => name), read.unread],
    );

  test('each has its own steps, in the order of the request', async () => {
    await store({ spans: [span(1, 'a'), span(2, 'b'), span(2, 'c')] });
    await store({ spans: [span(1, 'not mine')] }, { workspaceId: 2 });
    expect(await namesOf([run(2), run(3), run(1)])).toEqual([['b', 'c', 0], [0], ['a', 0]]);
  });

  test('each is looked for on the days of its own arrival', async () => {
    await store({ spans: [span(1, 'a'), span(2, 'b')] });
    await store({ spans: [span(1, 'late')] }, { arrivedAtMs: NOON_MS + 4 * DAY_MS });
    await store({ spans: [span(3, 'c')] }, { arrivedAtMs: NOON_MS + 4 * DAY_MS });
    expect(await namesOf([run(1), run(2), run(3, 4)])).toEqual([
      ['a', 1],
      ['b', 0],
      ['c', 0],
    ]);
  });

  test('as many as fit together are read, the first one whatever its size', async () => {
    for (const number of [1, 2, 3]) await store({ spans: [span(number, `${number}`)] });
    const all = [run(1), run(2), run(3)];
    const [one = 0] = sizesOf({ spans: [span(1, '1')] });
    expect(await namesOf(all, { togetherBytesMax: 3 * one })).toEqual([
      ['1', 0],
      ['2', 0],
      ['3', 0],
    ]);
    expect(await namesOf(all, { togetherBytesMax: 3 * one - 1 })).toEqual([
      ['1', 0],
      ['2', 0],
    ]);
    expect(await namesOf(all, { togetherBytesMax: 1 })).toEqual([['1', 0]]);
  });

  test('a run that is too large by itself is reported, and takes no room from the others', async () => {
    const large = JSON.stringify({ k: 'x'.repeat(1000) });
    await store({ spans: [span(1, 'a', large), span(2, 'b'), span(3, 'c', large), span(4, 'd')] });
    const all = [run(1), run(2), run(3), run(4)];
    const expected = ['too large', ['b', 0], 'too large', ['d', 0]];
    const [small = 0] = sizesOf({ spans: [span(2, 'b')] });
    const limits = { togetherBytesMax: 2 * small, runBytesMax: 2 * small };
    expect(await namesOf(all, limits)).toEqual(expected);
    expect(await namesOf([run(3), run(1)], limits)).toEqual(['too large', 'too large']);
    expect(await namesOf([run(3)], { togetherBytesMax: small })).toEqual([['c', 0]]);
  });

  test('the number of bytes of each run is returned', async () => {
    const spans = [span(1, 'abc', '{"k":1}'), span(1, 'd')];
    await store({ spans });
    const [read] = await readStepsOfRuns(scratch.database, [run(1)]);
    expect(read?.bytes).toBe(sizesOf({ spans }).reduce((sum, size) => sum + size, 0));
  });

  test('blocks that they share are read once', async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index + 1);
    await store({
      spans: [...numbers, ...numbers].map((number, id) =>
        spanRow({
          traceId: hex16(number),
          spanId: hex8(id + 1),
          name: `${number}`,
        }),
      ),
    });
    const query = vi.spyOn(scratch.database, 'query');
    const read = await namesOf(numbers.map((number) => run(number)));
    const texts = query.mock.calls.map(([text]) => String(text));
    query.mockRestore();
    expect(read).toEqual(numbers.map((number) => [`${number}`, `${number}`, 0]));
    expect(texts.filter((text) => text.includes('FROM hot_blocks'))).toHaveLength(1);
  });

  test('runs without steps take no room: they are read up to the first that does not fit', async () => {
    const attributes = JSON.stringify({ k: 'x'.repeat(92) });
    for (const number of [2, 4]) await store({ spans: [span(number, `${number}`, attributes)] });
    const all = [run(1), run(2), run(3), run(4), run(5)];
    const read = await namesOf(all, { togetherBytesMax: 1 });
    expect(read).toEqual([[0], ['2', 0], [0]]);
  });

  test('what is stored small and read large counts as it is read', async () => {
    const attributes = JSON.stringify({ k: 'x'.repeat(100_000) });
    for (const number of [1, 2]) await store({ spans: [span(number, `${number}`, attributes)] });
    expect(await namesOf([run(1), run(2)], { togetherBytesMax: 150_000 })).toEqual([['1', 0]]);
  });
});

describe('a block that cannot be read', () => {
  const run = (number: number) => ({ ...RUN, runId: hex16(number) });
  const span = (number: number, id: number) =>
    spanRow({ traceId: hex16(number), spanId: hex8(id), name: `${id}` });
  const read = async (reports: string[] = []) => {
    const runs = [1, 2, 3].map(run);
    const report = (blockId: string, error: Error) => reports.push(`${blockId}: ${error.message}`);
    const all = await readStepsOfRuns(scratch.database, runs, {}, report);
    return all.map((one) => [one?.steps.map(({ name }) => name), one?.unread, one?.unreadable]);
  };

  test.each([
    ['is damaged', `UPDATE hot_blocks SET data = substr(data, 2)`, 'its checksum differs'],
    ['is missing', `DELETE FROM hot_blocks`, 'it is missing'],
    ['has a text that is no JSON', null, 'cut'],
  ])('%s', async (_, change, why) => {
    await store({ spans: [span(1, 1), span(2, 2)] });
    await store({ spans: [span(1, 3), span(2, 4), span(1, 5)] });
    await store({ spans: [span(3, 6), span(1, 7)] });
    const rows = await scratch.rows('SELECT block_id FROM hot_blocks ORDER BY block_id');
    const id = String(rows[1]?.block_id);
    if (change !== null) await scratch.rows(`${change} WHERE block_id = $1`, [id]);
    else {
      const data = brotliCompressSync('{"resourceSpans":[{"scopeSpans":[{"spans":[{"');
      await scratch.rows(
        'UPDATE hot_blocks SET data = $2, bytes = 45, checksum = $3 WHERE block_id = $1',
        [id, data, checksumOf(data)],
      );
    }
    const reports: string[] = [];
    expect(await read(reports)).toEqual([
      [['1', '7'], 2, { blocks: 1, steps: 2 }],
      [['2'], 1, { blocks: 1, steps: 1 }],
      [['6'], 0, NOTHING_LOST],
    ]);
    expect(reports).toEqual([
      why === 'cut'
        ? `${id}: The JSON text ends within a value.`
        : `${id}: Block ${id} cannot be read: ${why}.`,
    ]);
  });

  test('and has the whole run makes it unreadable', async () => {
    await store({ spans: [span(1, 1)] });
    await scratch.rows('UPDATE hot_blocks SET codec = 9');
    const [only] = await readStepsOfRuns(scratch.database, [run(1)]);
    expect(only?.unreadable).toEqual({ blocks: 1, steps: 1 });
    expect(only === null || only === undefined ? null : isUnreadable(only)).toBe(true);
  });

  test('records that a block does not have are lost', async () => {
    await store({ spans: [span(1, 1), span(2, 2)] });
    await scratch.rows(`UPDATE hot_places SET records = '\\x0005' WHERE run_id = $1`, [hex16(1)]);
    await scratch.rows('UPDATE runs SET spans = 5 WHERE run_id = $1', [hex16(1)]);
    const [one] = await read();
    // The second span is of another run, but the damaged place claims it.
    expect(one).toEqual([['1', '2'], 3, { blocks: 1, steps: 3 }]);
  });
});
