/** Steps that are read from blocks are those that the plain decoder's rows are. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Step } from '../../src/model/steps.ts';
import type { LogRow, ResourceRow, SpanRow } from '../../src/model/telemetry.ts';
import type { DecodeResult } from '../../src/otlp/envelope.ts';
import { isObject } from '../../src/otlp/fields.ts';
import { type BlockRecord, recordsOf } from '../../src/otlp/lines/block-records.ts';
import { linesOf } from '../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { digestOf, readHead, readStep, type StepSignal } from '../../src/reads/read-step.ts';
import { dice, exportTree } from '../otlp/export-trees.ts';
import { type Habits, writeJson } from '../otlp/json-writer.ts';
import { casesOf } from '../support/exhaustive.ts';

const DECODERS = { traces: decodeTraces, logs: decodeLogs };
type Accepted = Extract<DecodeResult, { ok: true }>;

const parsed = (text: string | null): JsonValue => (text === null ? null : JSON.parse(text));
const cut = (name: string): string => [...name].slice(0, 256).join('');

type Origin = Pick<Step, 'scopeName' | 'serviceName'>;
const originOf = ({ scopeName, serviceName }: ResourceRow): Origin => ({
  scopeName: cut(scopeName),
  serviceName: serviceName === null ? null : cut(serviceName),
});

function stepOfSpan(row: SpanRow, origin: Origin): Step {
  const events = (parsed(row.events) ?? []) as { droppedAttributesCount?: number }[];
  return {
    ...origin,
    source: 'span',
    spanId: row.spanId,
    parentSpanId: row.parentSpanId,
    name: row.name,
    startUnixNano: row.startUnixNano,
    endUnixNano: row.endUnixNano,
    statusCode: row.statusCode,
    statusMessage: row.statusMessage,
    attributes: parsed(row.attributes) as JsonObject,
    events: events.map(({ droppedAttributesCount: _, ...event }) => event) as never,
    body: null,
    dropped: row.droppedAttributes + row.droppedEvents,
    hasRemoteParent: (row.flags & 0x300) === 0x300,
  };
}

function stepOfLog(row: LogRow, origin: Origin): Step {
  const time = row.timeUnixNano === '0' ? row.observedUnixNano : row.timeUnixNano;
  return {
    ...origin,
    source: 'log',
    spanId: row.spanId,
    parentSpanId: null,
    name: row.eventName,
    startUnixNano: time,
    endUnixNano: time,
    statusCode: 0,
    statusMessage: '',
    attributes: parsed(row.attributes) as JsonObject,
    events: [],
    body: parsed(row.body),
    dropped: row.droppedAttributes,
    hasRemoteParent: false,
  };
}

/** The steps of a body's rows, as the plain decoder gives them. */
function stepsOfRows({ request: { resources, spans, logs } }: Accepted): Step[] {
  const origins = new Map(resources.map((row) => [row.id, originOf(row)]));
  const of = ({ resourceId }: SpanRow | LogRow) =>
    origins.get(resourceId) ?? { scopeName: '', serviceName: null };
  return [
    ...spans.map((row) => stepOfSpan(row, of(row))),
    ...logs.map((row) => stepOfLog(row, of(row))),
  ];
}

/** The records of the lines of a body, as a block has them. */
function storedRecords(signal: StepSignal, body: Buffer): readonly BlockRecord[] {
  const result = DECODERS[signal](body);
  if (!result.ok) return [];
  const { spans, logs } = result.request;
  const lines = toEnd(linesOf(signal, body, spans.length + logs.length, result.accepted));
  const text = Buffer.concat(lines.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]));
  return toEnd(recordsOf(signal, text, [0, spans.length + logs.length]));
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

describe.each(['traces', 'logs'] as const)('%s', (signal) => {
  test.each([0, 0.02])('random bodies, with a share of faults of %s', (faults) => {
    fc.assert(
      fc.property(fc.integer(), habits, (seed, how) => {
        const random = dice(seed, faults);
        const body = Buffer.from(writeJson(exportTree(random, signal), how, random));
        const result = DECODERS[signal](body);
        if (!result.ok) return;
        const records = storedRecords(signal, body);
        const steps = records.map((record) => readStep(signal, record));
        const expected = stepsOfRows(result);
        expect(steps).toEqual(expected);
        // The order of members, too.
        expect(
          JSON.stringify(steps.map(({ attributes, body: value }) => [attributes, value])),
        ).toBe(JSON.stringify(expected.map(({ attributes, body: value }) => [attributes, value])));
        for (const [index, record] of records.entries()) {
          const { traceId: _, ...head } = readHead(signal, record);
          expect(steps[index]).toMatchObject(head);
        }
      }),
      { numRuns: casesOf(300, 10) },
    );
  });
});

const IDS = `"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}"`;
const bodyOf = (spans: string, resource = '{}', scope = '{}'): Buffer =>
  Buffer.from(
    `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${spans}]}]}]}`,
  );
function stepOf(span: string, resource?: string, scope?: string): Step {
  const [record] = storedRecords('traces', bodyOf(span, resource, scope));
  if (record === undefined) throw new Error('the span was rejected');
  return readStep('traces', record);
}

test('times that were sent as numbers keep all of their digits', () => {
  const times = '"startTimeUnixNano":1763640000000000001,"endTimeUnixNano":1763640000000000003';
  const event = '{"timeUnixNano":1763640000000000007}';
  const step = stepOf(`{${IDS},${times},"events":[${event}]}`);
  expect(step.startUnixNano).toBe('1763640000000000001');
  expect(step.endUnixNano).toBe('1763640000000000003');
  expect(step.events).toEqual([{ name: '', attributes: {}, timeUnixNano: '1763640000000000007' }]);
  const [log] = storedRecords(
    'logs',
    Buffer.from(
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"observedTimeUnixNano":1763640000000000001}]}]}]}',
    ),
  );
  expect(readStep('logs', log as BlockRecord).startUnixNano).toBe('1763640000000000001');
});

test('members with the names of inherited ones are plain members', () => {
  const entry = (key: string, value: string) =>
    `{"key":"${key}","value":{"stringValue":"${value}"}}`;
  const list = ['__proto__', 'constructor', 'a', '__proto__', 'toString']
    .map((key, at) => entry(key, String(at)))
    .join();
  const { attributes } = stepOf(`{${IDS},"attributes":[${list}]}`);
  expect(JSON.stringify(attributes)).toBe(
    '{"constructor":"1","a":"2","__proto__":"3","toString":"4"}',
  );
  expect(Object.getPrototypeOf(attributes)).toBe(Object.prototype);
});

test('of the names of service and scope, the first 256 characters are read', () => {
  const name = '🦊'.repeat(300);
  const service = `{"attributes":[{"key":"service.name","value":{"stringValue":"${name}"}}]}`;
  const { serviceName, scopeName } = stepOf(`{${IDS}}`, service, `{"name":"${name}"}`);
  expect(serviceName).toBe('🦊'.repeat(256));
  expect(scopeName).toBe('🦊'.repeat(256));
});

test('whatever a record is, reading it does not throw', () => {
  fc.assert(
    fc.property(fc.constantFrom('traces', 'logs'), fc.json(), fc.json(), (signal, text, origin) => {
      const object = (json: string): JsonObject => {
        const value: JsonValue = JSON.parse(json);
        return isObject(value) ? value : {};
      };
      const members = `"attributes":${origin},"body":${text},"events":${text},"status":${origin}`;
      for (const bytes of [text, `{${members}}`, '{"cut', '']) {
        const record: BlockRecord = {
          ordinal: 0,
          bytes: Buffer.from(bytes),
          origin: {
            resource: object(origin),
            scope: { scope: object(text) },
            head: Buffer.from(origin),
          },
        };
        expect(readStep(signal, record).attributes).toBeTypeOf('object');
        expect(readHead(signal, record).source).toBe(signal === 'traces' ? 'span' : 'log');
      }
    }),
    { numRuns: casesOf(500, 10) },
  );
});

describe('the digest', () => {
  const digestsOf = (body: Buffer): string[] => storedRecords('traces', body).map(digestOf);
  const [first] = digestsOf(bodyOf(`{${IDS},"name":"a"}`));

  test('of the same span, in a line of other records, is the same', () => {
    const others = `{"traceId":"bad"},{${IDS},"name":"b"}`;
    expect(digestsOf(bodyOf(`${others},{${IDS},"name":"a"},{${IDS},"name":"a"}`)).slice(1)).toEqual(
      [first, first],
    );
  });

  test('of a span with another member, resource or scope is another one', () => {
    const all = [
      first,
      ...digestsOf(bodyOf(`{${IDS},"name":"b"}`)),
      ...digestsOf(bodyOf(`{${IDS},"name":"a","links":[{}]}`)),
      ...digestsOf(bodyOf(`{${IDS},"name":"a"}`, '{"attributes":[]}')),
      ...digestsOf(bodyOf(`{${IDS},"name":"a"}`, '{}', '{"name":"a"}')),
    ];
    expect(new Set(all).size).toBe(5);
  });
});
