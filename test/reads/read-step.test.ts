/** Steps that are read from blocks have the values that were sent. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonText, JsonValue } from '../../src/model/json.ts';
import type { Step } from '../../src/model/steps.ts';
import type { LogFacts, SpanFacts } from '../../src/model/telemetry.ts';
import { isObject, isUnset, type Raw, toDouble, toInt64 } from '../../src/otlp/fields.ts';
import { parseJson, parseLongIntegers } from '../../src/otlp/json.ts';
import { type BlockRecord, recordsOf } from '../../src/otlp/lines/block-records.ts';
import { linesOf } from '../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { digestOf, readHead, readStep, type StepSignal } from '../../src/reads/read-step.ts';
import { dice, exportTree } from '../otlp/export-trees.ts';
import { type Habits, writeJson } from '../otlp/json-writer.ts';
import { casesOf } from '../support/cases.ts';

/*
 * Attribute values of accepted records as JSON text, the yardstick of `src/otlp/stored-values.ts`:
 *
 *   string, bool → themselves          int → integer literal, all digits
 *   double → literal with `.` or `e`, or {"$double":"NaN"}      bytes → {"$bytes":"<base64>"}
 *   array → array   kvlist → object, a key that begins with `$` gets one more   empty → null
 */

/** Writes an attribute list as one JSON object. Of entries with the same key the last one is kept, at its position. */
function attributesText(raw: Raw): JsonText {
  return Array.isArray(raw) ? entriesText(raw, '') : '{}';
}

/** Writes an AnyValue. If several members are set, the first in the order of the table above counts. */
function valueText(raw: Raw): JsonText {
  if (!isObject(raw)) return 'null';
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
    raw;
  if (typeof stringValue === 'string') return JSON.stringify(stringValue);
  if (typeof boolValue === 'boolean') return String(boolValue);
  if (!isUnset(intValue)) return toInt64(intValue) ?? doubleText(Number(intValue));
  if (!isUnset(doubleValue)) return doubleText(toDouble(doubleValue) ?? Number.NaN);
  if (!isUnset(bytesValue)) {
    return `{"$bytes":"${Buffer.from(String(bytesValue), 'base64').toString('base64')}"}`;
  }
  if (!isUnset(arrayValue)) return `[${valuesIn(arrayValue).map(valueText)}]`;
  if (!isUnset(kvlistValue)) return entriesText(valuesIn(kvlistValue), '$');
  return 'null';
}

const valuesIn = (raw: Raw): readonly JsonValue[] =>
  isObject(raw) && Array.isArray(raw.values) ? raw.values : [];

function doubleText(value: number): JsonText {
  if (!Number.isFinite(value)) return `{"$double":"${value}"}`;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** @param mark doubled at the start of a key; '' for none */
function entriesText(entries: readonly JsonValue[], mark: string): JsonText {
  const texts = new Map<string, string>();
  for (const entry of entries) {
    const { key, value } = isObject(entry) ? entry : {};
    const name = typeof key === 'string' ? key : '';
    const marked = mark !== '' && name.startsWith(mark) ? mark + name : name;
    texts.delete(marked);
    texts.set(marked, valueText(value));
  }
  return `{${[...texts].map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`;
}

const DECODERS = { traces: decodeTraces, logs: decodeLogs };
/** A record with all digits of its integers. */
function exactly(bytes: Buffer): JsonObject {
  const json = parseJson(bytes);
  if (!json.ok) throw new Error(json.message);
  return (parseLongIntegers(json.text) ?? json.value) as JsonObject;
}

/** The values of a record, as text. */
function valuesOf(signal: StepSignal, bytes: Buffer): unknown {
  const { attributes, events, body } = exactly(bytes);
  const list = signal === 'traces' && Array.isArray(events) ? events : [];
  return JSON.parse(
    `[${attributesText(attributes)},${signal === 'logs' ? valueText(body) : 'null'},` +
      `[${list.map((event) => attributesText(isObject(event) ? event.attributes : null))}]]`,
  );
}

/** The facts of an accepted record, as its step has them. */
function headOfFacts(facts: SpanFacts | LogFacts): Partial<Step> {
  if ('startUnixNano' in facts) {
    const { startUnixNano, endUnixNano, root } = facts;
    const times = { startUnixNano, endUnixNano };
    return root === null ? times : { ...times, parentSpanId: null, name: root.name };
  }
  const time = facts.timeUnixNano === '0' ? facts.observedUnixNano : facts.timeUnixNano;
  return { startUnixNano: time, endUnixNano: time };
}

/** The records of the lines of a body, as a block has them. */
function storedRecords(signal: StepSignal, body: Buffer): readonly BlockRecord[] {
  const result = DECODERS[signal](body);
  if (!result.ok) return [];
  const { spans, logs } = result.request;
  const lines = toEnd(linesOf(signal, body, spans.length + logs.length, result.accepted));
  const text = Buffer.concat(lines.flatMap(({ parts }) => [...parts, Buffer.from('\n')]));
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
        const facts = [...result.request.spans, ...result.request.logs];
        expect(steps).toHaveLength(facts.length);
        for (const [index, record] of records.entries()) {
          const { traceId: _, ...head } = readHead(signal, record);
          const step = steps[index] as Step;
          expect(step).toMatchObject(head);
          expect(step).toMatchObject(headOfFacts(facts[index] as SpanFacts | LogFacts));
          // As text: the order of members, too.
          const values = [step.attributes, step.body, step.events.map((event) => event.attributes)];
          expect(JSON.stringify(values)).toBe(JSON.stringify(valuesOf(signal, record.bytes)));
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
          frame: { parent: null, head: Buffer.from(origin), tail: '' },
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
