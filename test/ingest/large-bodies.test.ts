/**
 * Bodies decoded in a process: the same rows, rejections and errors as on the event loop. A process that crashes, takes too long or uses too much memory affects its own body only.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import {
  LargeBodies,
  type LargeBodiesSettings,
  type LargeBodyContext,
  type LargeBodyResult,
} from '../../src/ingest/large-bodies.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { dice, exportTree } from '../otlp/export-trees.ts';
import { type Habits, writeJson } from '../otlp/json-writer.ts';
import { casesOf } from '../support/cases.ts';
import { decodeRequest, lineBytes } from '../support/decoding.ts';
import { NOON_MS } from '../support/rows.ts';

const WRITTEN: Habits = {
  spaces: 0.02,
  escapes: 0.02,
  nameEscapes: 0,
  shuffles: 0.02,
  strangers: 0.02,
  repeats: 0,
  unstorable: 0.005,
};

let bodies = new LargeBodies();
afterEach(() => bodies.close());
/** For bodies that leave the process as it was. */
const shared = new LargeBodies({ waitMs: 120_000 });
afterAll(() => shared.close());

/** One process; a body waits as long as a slow machine needs. */
function open(settings: Partial<LargeBodiesSettings> = {}): LargeBodies {
  bodies = new LargeBodies({ processes: 1, waitMs: 120_000, ...settings });
  return bodies;
}

const contextOf = (workspaceId = 1, logRuns = new LogRuns()): LargeBodyContext => ({
  workspaceId,
  arrivedAtMs: NOON_MS,
  logRuns,
  whenUnawaited: () => {},
  findReceipt: () => Promise.resolve(null),
});

/** With texts in place of bytes, which are compared more quickly. */
function saidBy(result: LargeBodyResult): unknown {
  if (!result.ok || 'receipt' in result) return result;
  const { lines, ...encoded } = result.request.encoded;
  const texts = lines.map((line) => lineBytes(line).toString());
  return { ...result, request: { ...result.request, encoded: { ...encoded, lines: texts } } };
}

const hex = (number: number, width: number): string => number.toString(16).padStart(width, '0');

const span = (number: number, fields: object = {}) => ({
  traceId: hex(number, 32),
  spanId: hex(number, 16),
  name: `span ${number}`,
  startTimeUnixNano: '5',
  endTimeUnixNano: '6',
  ...fields,
});

const traces = (spans: readonly object[], service = 'shop') =>
  Buffer.from(
    JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
          scopeSpans: [{ spans }],
        },
      ],
    }),
  );

const codex = (
  records: readonly { event: string; at: number; prompt?: string }[],
  session = 's',
) => {
  const logRecords = records.map(({ event, at }) => ({
    eventName: event,
    timeUnixNano: String(at),
    attributes: [
      { key: 'conversation.id', value: { stringValue: session } },
      { key: 'output', value: { stringValue: 'text' } },
    ],
  }));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'codex' } }] };
  return Buffer.from(JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
};

const metrics = (count: number) =>
  Buffer.from(
    JSON.stringify({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              metrics: Array.from({ length: count }, (_, at) => ({
                name: `metric ${at} \ud800`,
                gauge: { dataPoints: [{ timeUnixNano: '1', asInt: at }, { asInt: 'no' }] },
              })),
            },
          ],
        },
      ],
    }),
  );

const MANY = Array.from({ length: 1200 }, (_, at) => at + 1);

test.each<[string, Signal, Buffer]>([
  ['a large span', 'traces', traces([span(1), span(2, { name: 'x'.repeat(6e6) }), span(3)])],
  ['lone surrogates', 'traces', traces([span(1, { name: 'a\ud800b' }), span(2)], '\udfff')],
  [
    'many runs and rejections',
    'traces',
    traces(MANY.map((at) => span(at, at % 3 ? {} : { spanId: 0 }))),
  ],
  [
    'many resources',
    'traces',
    Buffer.from(
      JSON.stringify({
        resourceSpans: MANY.flatMap(
          (at) => JSON.parse(traces([span(at)], `${at} \ud800`).toString()).resourceSpans,
        ),
      }),
    ),
  ],
  ['many metrics', 'metrics', metrics(1200)],
  [
    'long integers',
    'traces',
    Buffer.from(
      traces([span(1)])
        .toString()
        .replace('"5"', '1763640000000000001'),
    ),
  ],
  ['no rows', 'traces', Buffer.from('{"resourceSpans":"\\ud800"}')],
  ['nothing', 'logs', Buffer.alloc(0)],
  ['no JSON', 'logs', Buffer.from(`{"resourceLogs":[${'{},'.repeat(1000)}`)],
  [
    'bytes that are no UTF-8',
    'traces',
    Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')]),
  ],
])('%s: as on the event loop', async (_, signal, body) => {
  const before = Buffer.from(body);
  const there = await shared.decode(signal, body, contextOf());
  expect(saidBy(there)).toEqual(saidBy(decodeRequest(signal, body, contextOf())));
  expect(body.equals(before)).toBe(true);
});

test.each<Signal>(['traces', 'logs', 'metrics'])(
  'random exports of %s, good ones and broken ones',
  async (signal) => {
    const random = dice(20261122, 0.002);
    for (let count = 0; count < casesOf(60, 2); count += 1) {
      const text = writeJson(exportTree(random, signal), WRITTEN, random);
      const body = Buffer.from(count % 10 === 0 ? text.slice(0, text.length / 2) : text);
      const there = saidBy(await shared.decode(signal, body, contextOf()));
      const here = saidBy(decodeRequest(signal, body, contextOf()));
      // Quick where they are equal; else the difference is shown.
      if (!isDeepStrictEqual(there, here)) expect(there).toEqual(here);
    }
  },
);

test('records of known products belong to the prompts that this process knows', async () => {
  const small = codex([{ event: 'codex.user_prompt', at: 10 }]);
  const later = codex(MANY.map((at) => ({ event: 'codex.tool_result', at: at + 10 })));
  const prompts = codex(MANY.map((at) => ({ event: 'codex.user_prompt', at: at + 5000 })));
  const last = codex([{ event: 'codex.tool_result', at: 9000 }]);
  const [here, there] = [new LogRuns(), new LogRuns()];
  for (const body of [small, later, prompts, last]) {
    const expected = decodeRequest('logs', body, contextOf(1, here));
    const isLarge = body.length > small.length * 2;
    const result = isLarge
      ? await shared.decode('logs', body, contextOf(1, there))
      : decodeRequest('logs', body, contextOf(1, there));
    expect(saidBy(result)).toEqual(saidBy(expected));
  }
});

test('bodies are decoded one after the other, in turn of workspaces, by one process', async () => {
  open();
  const ended: number[] = [];
  const send = async (workspaceId: number): Promise<void> => {
    await bodies.decode('traces', traces([span(1)]), contextOf(workspaceId));
    ended.push(workspaceId);
  };
  await Promise.all([1, 1, 1, 1, 2, 3, 2].map(send));
  expect(ended).toEqual([1, 2, 3, 1, 2, 1, 1]);
});

describe('a body is refused', () => {
  const body = traces([span(1)]);

  test('when it holds more objects and lists than it may', async () => {
    const many = Buffer.from(`{"resourceSpans":[${'{},'.repeat(1_000_000)}{}]}`);
    const refused = shared.decode('traces', many, contextOf());
    await expect(refused).rejects.toMatchObject({ code: 'body_too_large' });
    expect(shared.processesRunning).toBe(1);
  });

  test('when too many wait, and when it has waited for too long', async () => {
    open({ waitingMax: 1, waitMs: 1 });
    const [first, second, third] = [1, 2, 3].map((id) =>
      bodies.decode('traces', body, contextOf(id)),
    );
    await expect(third).rejects.toMatchObject({ code: 'overloaded' });
    await expect(second).rejects.toMatchObject({ code: 'overloaded' });
    expect(await first).toMatchObject({ ok: true });
    expect(await bodies.decode('traces', body, contextOf())).toMatchObject({ ok: true });
  });

  test('when too many wait, of the workspace that has the most', async () => {
    open({ waitingMax: 2 });
    const [first, second, third, other] = [1, 1, 1, 2].map((id) =>
      bodies.decode('traces', body, contextOf(id)),
    );
    await expect(third).rejects.toMatchObject({ code: 'overloaded' });
    for (const decoded of [first, second, other]) expect(await decoded).toMatchObject({ ok: true });
  });

  test('when it takes too long, and the next one is decoded by another process', async () => {
    open({ decodeMs: 1 });
    const refused = bodies.decode('traces', body, contextOf());
    await expect(refused).rejects.toMatchObject({ code: 'body_too_large' });
    expect(bodies.processesRunning).toBe(0);
  });

  test('when it takes too much memory, without effect on other bodies', async () => {
    open({ heapMib: 32 });
    // V8 aborts the whole process over these, also when a thread with a limit of its own parses them.
    const keys = Array.from({ length: 4e5 }, (_, at) => `"${at}x":1`).join();
    const large = Buffer.from(`{"lone":"\\ud800","keys":{${keys}}}`);
    const [dear, next] = [large, body].map((one) => bodies.decode('traces', one, contextOf()));
    await expect(dear).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('memory'),
    });
    expect(await next).toMatchObject({ ok: true });
  });

  test('when the server stops', async () => {
    open();
    const [first, second] = [1, 2].map((id) => bodies.decode('traces', body, contextOf(id)));
    await bodies.close();
    await expect(first).rejects.toThrow();
    await expect(second).rejects.toThrow();
    await expect(bodies.decode('traces', body, contextOf())).rejects.toThrow();
  });
});
