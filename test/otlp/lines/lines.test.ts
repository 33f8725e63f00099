/** Lines hold exactly the accepted records of a body, as they were sent. */
import { isDeepStrictEqual } from 'node:util';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Signal } from '../../../src/model/telemetry.ts';
import type { DecodeResult } from '../../../src/otlp/envelope.ts';
import {
  HEADS_BYTES_MAX,
  LINE_BYTES_MAX,
  type Line,
  linesOf,
} from '../../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../../src/otlp/logs.ts';
import { decodeMetrics } from '../../../src/otlp/metrics.ts';
import { toEnd } from '../../../src/otlp/pieces.ts';
import { decodeTraces } from '../../../src/otlp/traces.ts';
import { casesOf } from '../../support/cases.ts';
import { lineBytes } from '../../support/decoding.ts';
import { recordsIn } from '../../support/exact-records.ts';
import { metricsBody, span, toBody, tracesBody } from '../bodies.ts';
import { dice, exportTree } from '../export-trees.ts';
import { type Habits, TIDY, writeJson } from '../json-writer.ts';

const DECODERS = { traces: decodeTraces, logs: decodeLogs, metrics: decodeMetrics };
type Accepted = Extract<DecodeResult, { ok: true }>;

const recordCount = ({ request }: Accepted): number =>
  request.spans.length + request.logs.length + request.points;

function linesIn(signal: Signal, body: Buffer): readonly Line[] {
  const result = DECODERS[signal](body);
  if (!result.ok) throw new Error(`undecodable: ${result.message}`);
  return toEnd(linesOf(signal, body, recordCount(result), result.accepted));
}

const wasRejected = ({ request }: Accepted): boolean =>
  request.rejections.some(({ count }) => count > 0);

/** Rows as another decoding gives them, without what depends on the surroundings. */
const rowsOf = ({ request: { spans, logs } }: Accepted) => [...spans, ...logs];

/** Checks lines against the body, with the plain decoder and with a parser that keeps numbers. */
function checkLines(signal: Signal, body: Buffer): void {
  const result = DECODERS[signal](body);
  if (!result.ok) return;
  const lines = toEnd(linesOf(signal, body, recordCount(result), result.accepted));
  const again = lines.map((line) => {
    const bytes = lineBytes(line);
    expect(bytes.includes('\n')).toBe(false);
    const decoded = DECODERS[signal](bytes);
    if (!decoded.ok) throw new Error(`a line is undecodable: ${decoded.message}`);
    expect(wasRejected(decoded)).toBe(false);
    expect(recordCount(decoded)).toBe(line.records);
    return decoded;
  });
  expect(isDeepStrictEqual(again.flatMap(rowsOf), rowsOf(result))).toBe(true);
  const stored = lines.flatMap((line) => recordsIn(signal, lineBytes(line).toString()));
  const sent = recordsIn(signal, body.toString());
  if (!wasRejected(result)) expect(stored).toEqual(sent);
  let at = 0;
  for (const record of sent) if (record === stored[at]) at += 1;
  expect(at).toBe(stored.length);
}

const habits: fc.Arbitrary<Habits> = fc.record({
  spaces: fc.constantFrom(0, 0.3),
  escapes: fc.constantFrom(0, 0.1),
  nameEscapes: fc.constantFrom(0, 0.1),
  shuffles: fc.constantFrom(0, 0.5),
  strangers: fc.constantFrom(0, 0.2),
  repeats: fc.constantFrom(0, 0.05),
  unstorable: fc.constantFrom(0, 0.1),
});

describe.each(['traces', 'logs', 'metrics'] as const)('%s', (signal) => {
  test.each([0, 0.02])('random bodies, with a share of faults of %s', (faults) => {
    fc.assert(
      fc.property(fc.integer(), habits, (seed, how) => {
        const random = dice(seed, faults);
        checkLines(signal, Buffer.from(writeJson(exportTree(random, signal), how, random)));
      }),
      { numRuns: casesOf(1000, 10) },
    );
  });
});

const plainSpan = (at: number): ReturnType<typeof span> =>
  span({ name: `span ${at}`, startTimeUnixNano: String(at), attributes: [] });

test('a body that is accepted whole is one line as it was sent', () => {
  const text = JSON.stringify(JSON.parse(tracesBody([plainSpan(1)]).toString()), null, 2);
  const body = Buffer.from(`\ufeff${text}\n`);
  const lines = linesIn('traces', body);
  expect(lines).toMatchObject([{ records: 1 }]);
  expect(lines.map((line) => lineBytes(line).toString())).toEqual([
    `${text} `.replaceAll('\n', ' '),
  ]);
  expect(body.toString()).toBe(`\ufeff${text}\n`);
});

test('lines share memory with the body, unless their parts are short', () => {
  const memoryOf = (spans: Parameters<typeof tracesBody>[0]) => {
    const body = tracesBody(spans);
    const parts = linesIn('traces', body).flatMap((line) => line.parts);
    return parts.map(({ buffer }) => buffer === body.buffer);
  };
  const long = span({ name: 'x'.repeat(20_000) });
  expect(memoryOf([plainSpan(1)])).toEqual([true]);
  expect(memoryOf([long, long, {}, long])).toEqual([false, false, false, true, false, true, false]);
  const short = span({ name: 'x'.repeat(5000) });
  expect(memoryOf([short, {}, short])).toEqual([false]);
});

test('bytes that are not UTF-8 are replaced', () => {
  const body = tracesBody([span({ name: 'caf\u00e9' })]);
  const latin1 = Buffer.from(body.toString(), 'latin1');
  expect(linesIn('traces', latin1).map((line) => lineBytes(line).toString())).toEqual([
    body.toString().replace('\u00e9', '\ufffd'),
  ]);
});

test('rejected records are left out, unknown members and number texts are kept', () => {
  const text = `{"x":[1e3],"resourceSpans":[{"resource":{"y":1.0},"scopeSpans":[
    {"spans":[{"traceId":"bad"},{"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}",
     "z":12345678901234567890}]},{"spans":[{}]}]},{"scopeSpans":[]}],"w":"\\u0000\\ud800"}`;
  expect(linesIn('traces', Buffer.from(text)).map((line) => lineBytes(line).toString())).toEqual([
    `{"x":[1e3],"w":"\\u0000\\ud800","resourceSpans":[{"resource":{"y":1.0},"scopeSpans":[{"spans":[` +
      `{"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}",      "z":12345678901234567890}]}]}]}`,
  ]);
});

test('some points of a metric are left out, and metrics without points that are left', () => {
  const point = (asInt: string) => ({ timeUnixNano: '1', asInt });
  const metrics = [
    { name: 'a', sum: { aggregationTemporality: 1, dataPoints: [point('x'), point('1')] } },
    { name: 'b', gauge: { dataPoints: [point('y')] } },
    { name: 'c', gauge: { dataPoints: [point('2'), point('3')] } },
    { name: 'd', gauge: { dataPoints: [] } },
  ];
  const [line] = linesIn('metrics', metricsBody(metrics));
  const kept = [
    { name: 'a', sum: { aggregationTemporality: 1, dataPoints: [point('1')] } },
    { name: 'c', gauge: { dataPoints: [point('2'), point('3')] } },
  ];
  expect(line).toMatchObject({ records: 3 });
  expect(line && lineBytes(line)).toEqual(metricsBody(kept));
});

describe('the last of several members with the same name counts', () => {
  const point = '{"timeUnixNano":"1","asInt":"1"}';
  const points = `{"dataPoints":[${point}],"aggregationTemporality":1}`;
  const rejected = '{"gauge":{"dataPoints":[{}]}}';
  const bodyOf = (metric: string): Buffer =>
    Buffer.from(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[${rejected},${metric}]}]}]}`);

  test.each([
    [`"gauge":${points},"sum":${points},"sum":null`, ['gauge']],
    [`"gauge":${points},"sum":{},"sum":null`, ['gauge']],
    [`"gauge":${points},"sum":${points},"gauge":null`, ['sum']],
    [`"sum":${points},"gauge":${points},"sum":${points},"gauge":null`, ['sum']],
    [`"sum":${points},"gauge":${points},"gauge":null,"summary":{},"summary":null`, ['sum']],
    [`"gauge":null,"sum":"x","sum":${points},"gauge":null`, ['sum']],
    [`"gauge":${points},"sum":${points},"gauge":null,"sum":null,"gauge":${points}`, ['gauge']],
    [`"gauge":${points},"sum":{"dataPoints":[]},"gauge":null`, []],
  ])('kinds: %s', (members, kinds) => {
    const body = bodyOf(`{${members}}`);
    const stored = linesIn('metrics', body).flatMap((line) =>
      Object.entries(
        JSON.parse(lineBytes(line).toString()).resourceMetrics[0].scopeMetrics[0].metrics[0],
      ),
    );
    expect(stored.flatMap(([kind, data]) => (data === null ? [] : [kind]))).toEqual(kinds);
    checkLines('metrics', body);
  });

  test('a list before the last one is in no line', () => {
    const dead = '{"timeUnixNano":"1","asInt":"666"}';
    const body = bodyOf(`{"gauge":{"dataPoints":[${dead}],"x":1,"dataPoints":[${point}]}}`);
    expect(linesIn('metrics', body).map((line) => lineBytes(line).toString())).toEqual([
      bodyOf('').toString().replace(`${rejected},`, `{"gauge":{"x":1,"dataPoints":[${point}]}}`),
    ]);
  });
});

test('a head has its members as they were sent, with what is between them', () => {
  const long = `"${'k'.repeat(1000)}":1`;
  const text = (spans: string): string =>
    `{"resourceSpans":[{"a":1 ,\t"b": [2],${long},"scopeSpans":[{"c":3,"spans":[${spans}]}],"d":4 , "e":5}]}`;
  const good = JSON.stringify(plainSpan(1));
  expect(
    linesIn('traces', Buffer.from(text(`{},${good}`))).map((line) => lineBytes(line).toString()),
  ).toEqual([
    `{"resourceSpans":[{"a":1 ,\t"b": [2],${long},"d":4 , "e":5,"scopeSpans":[{"c":3,"spans":[${good}]}]}]}`,
  ]);
});

test('a count of records that differs from those in the body is an error', () => {
  const body = tracesBody([plainSpan(1), span({ traceId: 'bad' })]);
  const result = decodeTraces(body);
  if (!result.ok) throw new Error(result.message);
  expect(() => toEnd(linesOf('traces', body, 2, result.accepted))).toThrow('1 of 2 records');
});

describe('a long body is cut between records', () => {
  test.each([LINE_BYTES_MAX, LINE_BYTES_MAX + 1])('of %s bytes', (length) => {
    const body = tracesBody([plainSpan(1), span({ name: '' })]);
    const long = tracesBody([plainSpan(1), span({ name: 'x'.repeat(length - body.length) })]);
    expect(long).toHaveLength(length);
    expect(linesIn('traces', long)).toHaveLength(length > LINE_BYTES_MAX ? 2 : 1);
    checkLines('traces', long);
  });

  test('into lines that are no longer than they may be, each with the heads', () => {
    const spans = Array.from({ length: 5000 }, (_, at) => plainSpan(at));
    const body = toBody({
      resourceSpans: [
        { resource: { attributes: [] }, scopeSpans: [{ scope: { name: 's' }, spans }] },
        { scopeSpans: [{ spans }], schemaUrl: 'u' },
      ],
    });
    const lines = linesIn('traces', body);
    expect(lines.length).toBeGreaterThan(body.length / LINE_BYTES_MAX);
    for (const { bytes } of lines) expect(bytes).toBeLessThanOrEqual(LINE_BYTES_MAX);
    checkLines('traces', body);
  });

  test('within a metric', () => {
    const dataPoints = Array.from({ length: 20_000 }, (_, at) => ({
      timeUnixNano: String(at + 1),
      asDouble: at / 7,
    }));
    const body = metricsBody([{ name: 'm', unit: 's', gauge: { dataPoints } }]);
    expect(linesIn('metrics', body).length).toBeGreaterThan(body.length / LINE_BYTES_MAX);
    checkLines('metrics', body);
  });

  test('without storing large heads more than twice', () => {
    const attributes = [{ key: 'k', value: { stringValue: 'x'.repeat(LINE_BYTES_MAX) } }];
    const scopeSpans = Array.from({ length: 100 }, (_, at) => ({
      scope: { name: 'y'.repeat(5000) },
      spans: [plainSpan(at)],
    }));
    const body = toBody({ resourceSpans: [{ resource: { attributes }, scopeSpans }] });
    const stored = linesIn('traces', body).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(stored).toBeLessThan(2 * body.length);
    checkLines('traces', body);
  });
});

test.each([HEADS_BYTES_MAX, HEADS_BYTES_MAX + 1])('a resource of %s bytes', (length) => {
  const withSchema = (schemaUrl: string): Buffer =>
    toBody({ resourceSpans: [{ schemaUrl, scopeSpans: [{ spans: [plainSpan(1)] }] }] });
  const headOf = (body: Buffer): number => body.indexOf('{"traceId"');
  const body = withSchema('x'.repeat(length - headOf(withSchema(''))));
  expect(headOf(body)).toBe(length);
  if (length === HEADS_BYTES_MAX) checkLines('traces', body);
  else expect(() => linesIn('traces', body)).toThrow('at most 4194304 are allowed');
});

test('random bodies that are long and have faults', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = dice(seed, 0.001);
      const trees = Array.from({ length: 40 }, () =>
        Buffer.from(writeJson(exportTree(random, 'metrics'), TIDY, random)),
      );
      const resourceMetrics = trees.flatMap(
        (tree) => JSON.parse(tree.toString()).resourceMetrics ?? [],
      );
      checkLines('metrics', toBody({ resourceMetrics }));
    }),
    { numRuns: casesOf(50, 10) },
  );
});
