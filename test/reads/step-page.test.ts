/** A page of a run's steps: which steps it has, how deep they are, and within which limits. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findingsByStep } from '../../src/engine/run-outline.ts';
import type { Step } from '../../src/model/steps.ts';
import type { SoughtStep } from '../../src/reads/chosen-steps.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepPage } from '../../src/reads/step-page.ts';
import type { MigratedDatabase } from '../support/database.ts';
import {
  DAY_MS,
  findingDraft,
  hex8,
  hex16,
  logRow,
  NOON_MS,
  spanRow,
  TRACE_ID,
} from '../support/rows.ts';
import { dayOf, openStoredRun, RUN, readSteps, type StoredRun } from '../support/stored-runs.ts';
import { finding } from '../web/app/fixtures.ts';

let scratch: MigratedDatabase;
let store: StoredRun['store'];

beforeAll(async () => {
  ({ scratch, store } = await openStoredRun());
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, hot_blocks, blocks, hot_places, places');
});

describe('a page of steps', () => {
  const LIMITS = {
    pageSteps: 100,
    bytesMax: 64 * 1024,
    cutBytes: 8 * 1024,
    ordinaryBytes: 8 * 1024,
    wholeBytes: 512 * 1024,
    structuresMax: 1000,
  };
  const MEGABYTE = 'x'.repeat(1024 * 1024);
  const readPage = async (
    { stepsMax = 100, ...limits }: Partial<typeof LIMITS & { stepsMax: number }> = {},
    from = 1,
    sought?: Partial<SoughtStep>,
  ) =>
    readStepPage(
      scratch.database,
      await readTree(scratch.database, RUN, stepsMax),
      { ...LIMITS, ...limits },
      { from, sought: sought === undefined ? null : { number: 1, ...sought } },
    );
  const outline = async (limits: Partial<typeof LIMITS> = {}) => {
    const { steps } = await readPage(limits);
    return {
      steps: steps.map(({ step }) => step),
      cut: new Set(steps.flatMap(({ isCut }, index) => (isCut ? [index] : []))),
    };
  };
  const numbers = ({ steps }: Awaited<ReturnType<typeof readPage>>) =>
    steps.map(({ number }) => number);

  test('holds a span that was sent again once, as its evaluation does', async () => {
    const spans = [spanRow(), spanRow({ name: 'other' }), spanRow({ spanId: hex8(2) })];
    await store({ spans }, { arrivedAtMs: NOON_MS + DAY_MS });
    await store({ spans });
    const page = await readPage();
    const read = await readSteps(scratch.database, RUN);
    expect(page).toMatchObject({ count: 3, repeats: 3 });
    expect(read.repeats).toBe(3);
    expect(page.steps.map(({ step, twin }) => [step.name, step.arrivedOn, twin]).sort()).toEqual(
      read.steps.map(({ name, arrivedOn, twin = 0 }) => [name, arrivedOn, twin]).sort(),
    );
    expect(new Set(page.steps.map(({ step }) => step.arrivedOn))).toEqual(
      new Set([dayOf(NOON_MS)]),
    );
  });

  test('of a small run holds what its evaluation reads', async () => {
    await store({
      spans: [
        spanRow({
          name: 'chat',
          attributes: '{"a":{"b":[1,"é"]}}',
          events: '[{"name":"e","timeUnixNano":"5"}]',
        }),
      ],
      logs: [logRow({ traceId: TRACE_ID, body: '{"text":"hi"}' })],
    });
    const { steps } = await readSteps(scratch.database, RUN);
    const { steps: shown, cut } = await outline();
    expect(shown.map((step, at) => ({ ...step, number: at + 1, twin: 0 }))).toEqual(steps);
    expect(cut).toEqual(new Set());
  });

  test('cuts a large first step, and holds the steps after it', async () => {
    const attributes = {
      'gen_ai.input.messages': MEGABYTE,
      nested: { a: MEGABYTE },
      [MEGABYTE]: 1,
      'gen_ai.operation.name': 'chat',
    };
    const events = [{ name: 'first' }, { name: MEGABYTE }, { name: 'last' }];
    await store({
      spans: [
        spanRow({
          name: MEGABYTE,
          statusMessage: MEGABYTE,
          startUnixNano: '1',
          attributes: JSON.stringify(attributes),
          events: JSON.stringify(events),
        }),
        spanRow({ spanId: hex8(2), name: 'small', startUnixNano: '2' }),
      ],
    });
    const { steps, cut } = await outline();
    expect(cut).toEqual(new Set([0]));
    expect(steps.map(({ name }) => name.slice(0, 300))).toEqual(['x'.repeat(256), 'small']);
    expect(steps[0]?.attributes).toEqual({ 'gen_ai.operation.name': 'chat' });
    expect(steps[0]?.events).toEqual([{ name: 'first', attributes: {}, timeUnixNano: '0' }]);
    expect(steps[0]?.statusMessage).toHaveLength(1024);
    expect(JSON.stringify(steps[0]).length).toBeLessThan(LIMITS.cutBytes);
  });

  test.each([
    ['a text', JSON.stringify('é'.repeat(1e6)), 'é'.repeat(8192)],
    ['an object', JSON.stringify({ long: [MEGABYTE], text: 'hi' }), { text: 'hi' }],
    ['a list', JSON.stringify([MEGABYTE]), null],
  ])('cuts a body that is %s', async (_, body, shown) => {
    await store({ logs: [logRow({ traceId: TRACE_ID, body })] });
    const { steps, cut } = await outline();
    expect(cut).toEqual(new Set([0]));
    expect(steps[0]?.body).toEqual(shown);
  });

  test.each([
    ['many keys', Object.fromEntries(Array.from({ length: 1e5 }, (_, key) => [`k${key}`, 'v']))],
    [
      'many long texts',
      Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`k${key}`, 'v'.repeat(5000)])),
    ],
    ['control characters', { text: '\u0001'.repeat(1e6) }],
  ])('of %s stays within its bytes', async (_, attributes) => {
    const large = { cutBytes: 128 * 1024, ordinaryBytes: 128 * 1024, bytesMax: 1024 * 1024 };
    await store({ spans: [spanRow({ attributes: JSON.stringify(attributes) })] });
    const { steps, cut } = await outline(large);
    expect(cut).toEqual(new Set([0]));
    const bytes = JSON.stringify(steps[0]?.attributes).length;
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(large.cutBytes);
  });

  test('counts a cut step as what is left of it, and leaves out what does not fit', async () => {
    const attributes = JSON.stringify({ a: MEGABYTE });
    await store({
      spans: Array.from({ length: 12 }, (_, at) =>
        spanRow({ spanId: hex8(at + 1), startUnixNano: String(at + 1), attributes }),
      ),
    });
    const { steps, cut } = await outline();
    expect([steps.length, cut.size]).toEqual([8, 8]);
  });

  const many = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      spanRow({ spanId: hex8(at + 1), startUnixNano: String(at + 1), endUnixNano: '1000' }),
    );

  test('is found by the number of a step, the last one past the end', async () => {
    await store({ spans: many(7) });
    const first = await readPage({ pageSteps: 3 });
    expect(first).toMatchObject({
      count: 7,
      sought: null,
      startUnixNano: '1',
      endUnixNano: '1000',
    });
    expect(numbers(first)).toEqual([1, 2, 3]);
    expect(numbers(await readPage({ pageSteps: 3 }, 5))).toEqual([4, 5, 6]);
    expect(numbers(await readPage({ pageSteps: 3 }, 99))).toEqual([7]);
    expect(numbers(await readPage({ stepsMax: 5, pageSteps: 3 }, 99))).toEqual([4, 5]);
  });

  test('is found by a step: its source, start and span, the nearest number of several', async () => {
    const logs = [1, 2, 3, 4, 5].map((body) =>
      logRow({ traceId: TRACE_ID, timeUnixNano: '4', body: String(body) }),
    );
    await store({ spans: many(7), logs });
    const at = { source: 'log' as const, startUnixNano: '4', spanId: '' as const };
    const found = await readPage({ pageSteps: 2 }, 1, { ...at, number: 8 });
    expect([found.sought, numbers(found)]).toEqual([8, [7, 8]]);
    expect(found.steps[1]?.step).toMatchObject({ source: 'log', startUnixNano: '4' });
    expect((await readPage({}, 1, { ...at, number: 1 })).sought).toBe(5);
    expect((await readPage({}, 1, { ...at, startUnixNano: '5' })).sought).toBeNull();
    expect((await readPage({}, 1, { spanId: hex8(7) })).sought).toBe(12);
    expect((await readPage({ pageSteps: 3 }, 1, { number: 6 })).sought).toBe(6);
  });

  test('has a parent before its child, also when both start and end together', async () => {
    const together = { startUnixNano: '5', endUnixNano: '6' };
    await store({
      spans: [
        spanRow({ name: 'child', spanId: hex8(1), parentSpanId: hex8(9), ...together }),
        spanRow({ name: 'parent', spanId: hex8(9), ...together }),
        spanRow({
          name: 'late child',
          spanId: hex8(2),
          parentSpanId: hex8(9),
          ...together,
          endUnixNano: '7',
        }),
      ],
    });
    const names = (await readPage()).steps.map(({ step }) => step.name);
    expect(names).toEqual(['parent', 'late child', 'child']);
  });

  test('is found by the step that a finding records, also among steps that start together', async () => {
    const start = '5';
    const chain = Array.from({ length: 25 }, (_, at) =>
      spanRow({
        // Ids fall where depth rises; ends rise and fall.
        spanId: hex8(99 - at),
        parentSpanId: hex8(at % 20 === 0 ? 50 : 100 - at),
        name: `span ${at}`,
        startUnixNano: start,
        endUnixNano: String(6 + ((at * 7) % 5)),
      }),
    );
    const circle = [1, 2].map((at) =>
      spanRow({ spanId: hex8(at), parentSpanId: hex8(3 - at), startUnixNano: start }),
    );
    const again = [98, 4].map((parent) =>
      spanRow({
        spanId: hex8(97),
        parentSpanId: hex8(parent),
        startUnixNano: start,
        name: 'again',
      }),
    );
    const logs = Array.from({ length: 18 }, (_, at) =>
      logRow({
        traceId: TRACE_ID,
        spanId: [null, hex8(97), hex8(80)][at % 3] ?? null,
        timeUnixNano: start,
        body: JSON.stringify({ text: `${(at * 5) % 18}` }),
      }),
    );
    const before = spanRow({ spanId: hex8(5), name: 'before', startUnixNano: '1' });
    await store({ spans: [...chain, ...circle, before, ...again], logs });
    const { steps } = await readSteps(scratch.database, RUN);
    expect(steps).toHaveLength(48);
    expect(new Set(steps.map(({ number }) => number)).size).toBe(48);
    const open = async (step: Step) => {
      const { number = 0, twin = 0, source, startUnixNano, spanId, arrivedOn = '' } = step;
      const sought = {
        ...{ number, twin, source, startUnixNano, arrivedOn },
        spanId: spanId ?? ('' as const),
      };
      const { steps: page, sought: opened } = await readPage({ pageSteps: 3 }, 1, sought);
      const place = { ...findingDraft().place, twin, source, startUnixNano, arrivedOn };
      const own = findingsByStep(page, [finding({ stepSpanId: spanId, place })]);
      expect([...own.keys()].map((one) => one?.number)).toEqual([opened]);
      const shown = page.find((one) => one.number === opened);
      return { opened, step: { ...shown?.step, number, twin } };
    };
    for (const step of steps) expect(await open(step)).toEqual({ opened: step.number, step });
    // Later numbers move when a step arrives after the evaluation; what a finding opens does not.
    await store({ spans: [spanRow({ spanId: hex8(6), startUnixNano: '2' })] });
    for (const step of steps) {
      const { number = 0 } = step;
      expect(await open(step)).toEqual({ opened: number + (number > 1 ? 1 : 0), step });
    }
  });

  test('opens a finding at its step after the equal steps of another day were removed', async () => {
    const equal = (body: string) =>
      logRow({ traceId: TRACE_ID, timeUnixNano: '5', body: JSON.stringify(body) });
    await store({ logs: [equal('first'), equal('second')] });
    await store({ logs: [equal('third'), equal('fourth')] }, { arrivedAtMs: NOON_MS + DAY_MS });
    const { steps } = await readSteps(scratch.database, RUN);
    const found = steps.find(({ body }) => body === 'third');
    expect(found).toMatchObject({ number: 3, twin: 0, arrivedOn: dayOf(NOON_MS + DAY_MS) });
    const open = async () => {
      const { twin = 0, arrivedOn = '', startUnixNano = '' } = found ?? {};
      const sought = { number: 3, source: 'log' as const, spanId: '' as const };
      const page = await readPage({}, 1, { ...sought, startUnixNano, twin, arrivedOn });
      const place = { ...findingDraft().place, source: 'log' as const };
      const one = finding({
        stepSpanId: null,
        place: { ...place, startUnixNano, twin, arrivedOn },
      });
      return [...findingsByStep(page.steps, [one]).keys()].map((one) => one?.step.body);
    };
    expect(await open()).toEqual(['third']);
    for (const table of ['places', 'blocks']) {
      await scratch.database.query(`DELETE FROM ${table} WHERE arrived_on = $1`, [dayOf(NOON_MS)]);
    }
    expect(await open()).toEqual(['third']);
    await scratch.database.query('TRUNCATE hot_places, places, hot_blocks, blocks');
    await store({ logs: [equal('fifth')] });
    expect(await open()).toEqual([]);
  });

  test('has ordinary steps whole, and cuts those with too many structures', async () => {
    const steps = [...Array(6_000).keys()].map(String).join(' ');
    await store({
      spans: [
        spanRow({
          spanId: hex8(1),
          startUnixNano: '1',
          attributes: JSON.stringify({ 'gen_ai.prompt': steps }),
        }),
        spanRow({
          spanId: hex8(2),
          startUnixNano: '2',
          attributes: JSON.stringify({ 'gen_ai.prompt': '{},'.repeat(9_000) }),
        }),
      ],
    });
    const { steps: page } = await readPage({ ordinaryBytes: 48 * 1024 });
    expect(page.map(({ isCut }) => isCut)).toEqual([false, true]);
    expect(JSON.stringify(page[1]).length).toBeLessThan(LIMITS.cutBytes + 1024);
  });

  test('has the step that is sought whole, unless it has too many structures', async () => {
    const text = JSON.stringify({ 'gen_ai.prompt': 'x'.repeat(300_000) });
    const dense = JSON.stringify({ 'gen_ai.prompt': '{},'.repeat(20_000) });
    await store({
      spans: [
        spanRow({ spanId: hex8(1), startUnixNano: '1', attributes: text }),
        spanRow({ spanId: hex8(2), startUnixNano: '2', attributes: dense }),
      ],
    });
    const limits = { bytesMax: 1024 * 1024 };
    const cut = async (number: number) =>
      (await readPage(limits, 1, { number })).steps.map(({ isCut }) => isCut);
    expect(await cut(1)).toEqual([false, true]);
    expect(await cut(2)).toEqual([true, true]);
  });

  test('knows the depth and the span of its steps, though these are on other pages', async () => {
    const chain = [1, 2, 3].map((at) =>
      spanRow({
        spanId: hex8(at),
        parentSpanId: at === 1 ? null : hex8(at - 1),
        startUnixNano: String(at),
        attributes: '{"gen_ai.operation.name":"chat"}',
      }),
    );
    const log = logRow({ traceId: TRACE_ID, timeUnixNano: '9', spanId: hex8(3) });
    await store({ spans: chain, logs: [log] });
    const page = await readPage({ pageSteps: 3 }, 4);
    expect(page.steps).toMatchObject([{ number: 4, depth: 3, step: { source: 'log' } }]);
    expect(page.owners.map(({ spanId }) => spanId)).toEqual([hex8(3)]);
    expect((await readPage()).steps.map(({ depth }) => depth)).toEqual([0, 1, 2, 3]);
  });

  test('ends the way up in a loop, however often its spans were sent', async () => {
    const loop = Array.from({ length: 500 }, (_, at) =>
      spanRow({ spanId: hex8(1 + (at % 2)), parentSpanId: hex8(2 - (at % 2)) }),
    );
    await store({ spans: loop });
    const { steps } = await readPage({ stepsMax: 1000 });
    expect(new Set(steps.map(({ depth }) => depth))).toEqual(new Set([6]));
  });

  test('holds no step of another run in the same block', async () => {
    const other = hex16(7);
    const spans = many(6).map((span, at) => (at % 2 === 0 ? span : { ...span, traceId: other }));
    await store({ spans });
    const page = await readPage();
    expect(page.steps.map(({ step }) => step.startUnixNano)).toEqual(['1', '3', '5']);
    const tree = await readTree(scratch.database, { ...RUN, runId: other }, 100);
    const { steps } = await readStepPage(scratch.database, tree, LIMITS);
    expect(steps.map(({ step }) => step.startUnixNano)).toEqual(['2', '4', '6']);
    const elsewhere = { ...RUN, workspaceId: RUN.workspaceId + 1 };
    expect((await readTree(scratch.database, elsewhere, 100)).steps).toEqual([]);
  });

  test.each([
    ['damaged', `UPDATE hot_blocks SET data = 'damaged' WHERE block_id = $1`],
    ['cut', 'UPDATE hot_blocks SET data = substr(data, 1, 20) WHERE block_id = $1'],
    ['of another length', 'UPDATE hot_blocks SET bytes = bytes - 1 WHERE block_id = $1'],
    ['of an unknown codec', 'UPDATE hot_blocks SET codec = 9 WHERE block_id = $1'],
    ['missing', 'DELETE FROM hot_blocks WHERE block_id = $1'],
  ])(
    'without a block that is %s has the other steps, and counts those of the block',
    async (_, damage) => {
      const [first, second, ...rest] = many(5);
      await store({ spans: [first, second].flatMap((span) => span ?? []) });
      await store({ spans: rest });
      const tree = await readTree(scratch.database, RUN, 100);
      const whole = { blocks: 0, steps: 0 };
      expect(tree.unreadable).toEqual(whole);
      expect((await readStepPage(scratch.database, tree, LIMITS)).unreadable).toEqual(whole);
      await scratch.database.query(damage, [tree.steps[4]?.blockId]);
      const unreadable = { blocks: 1, steps: 3 };
      const page = await readPage();
      expect([numbers(page), page.count, page.unreadable]).toEqual([[1, 2], 2, unreadable]);
      const old = await readStepPage(scratch.database, tree, LIMITS);
      expect([numbers(old), old.count, old.unreadable]).toEqual([[1, 2], 5, unreadable]);
    },
  );

  test('of a run without steps has none', async () => {
    expect(await readPage({}, 3, { number: 2 })).toMatchObject({ steps: [], count: 0 });
  });
});
