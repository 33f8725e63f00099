/** Records are selected by time and service, and the lines of all hours together hold each of them once. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Signal } from '../../src/model/telemetry.ts';
import type { DecodeResult } from '../../src/otlp/envelope.ts';
import { linesOf } from '../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { decodeMetrics } from '../../src/otlp/metrics.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { type RecordFilter, selectLines } from '../../src/reads/selected-lines.ts';
import { dice, exportTree } from '../otlp/export-trees.ts';
import { type Habits, writeJson } from '../otlp/json-writer.ts';
import { casesOf } from '../support/cases.ts';
import { recordsIn } from '../support/exact-records.ts';

const DECODERS = { traces: decodeTraces, logs: decodeLogs, metrics: decodeMetrics };
const DAY = '2026-11-20';
const DAY_MS = 86_400_000;
const NOTHING: RecordFilter = { sinceMs: null, untilMs: null, service: null };

/** The stored text of bodies; empty if none has records. */
function blockOf(signal: Signal, bodies: readonly string[]) {
  const lines = bodies.flatMap((body) => {
    const bytes = Buffer.from(body);
    const result: DecodeResult = DECODERS[signal](bytes);
    if (!result.ok) return [];
    const { spans, logs, points } = result.request;
    const records = spans.length + logs.length + points;
    return toEnd(linesOf(signal, bytes, records, result.accepted));
  });
  const text = Buffer.concat(lines.flatMap(({ parts }) => [...parts, Buffer.from('\n')]));
  return {
    signal,
    text,
    arrivedOn: DAY,
    records: lines.reduce((sum, one) => sum + one.records, 0),
  };
}

const linesIn = (text: Buffer): string[] => text.toString().split('\n').slice(0, -1);
const recordsOf = (signal: Signal, text: Buffer): string[] =>
  linesIn(text).flatMap((line) => recordsIn(signal, line));
const sorted = (records: readonly string[]): string[] => [...records].sort();

type Members = Record<string, unknown>;

/** A number or text of a record as digits; other forms of a number are read as the program does. */
function digits(value: unknown): bigint {
  const text = typeof value === 'object' && value !== null ? (value as Members).number : value;
  return typeof text === 'string' && text !== '' ? BigInt(Number(text) === 0 ? 0 : text) : 0n;
}

/** The time of a record in milliseconds; 0 without one. */
function timeOf(signal: Signal, record: string): number {
  const { startTimeUnixNano, timeUnixNano, observedTimeUnixNano } = (
    JSON.parse(record) as Members[]
  ).at(-1) as Members;
  const first = digits(signal === 'traces' ? startTimeUnixNano : timeUnixNano);
  const time = first === 0n && signal === 'logs' ? digits(observedTimeUnixNano) : first;
  return Number(time / 1_000_000n);
}

function serviceOf(record: string): string | null {
  const resource = ((JSON.parse(record) as Members[])[1] as Members).resource as Members | null;
  const list = resource?.attributes as { key: string; value?: { stringValue?: string } }[] | null;
  return list?.findLast(({ key }) => key === 'service.name')?.value?.stringValue ?? null;
}

const habits: fc.Arbitrary<Habits> = fc.record({
  spaces: fc.constantFrom(0, 0.3),
  escapes: fc.constantFrom(0, 0.1),
  nameEscapes: fc.constantFrom(0, 0.1),
  shuffles: fc.constantFrom(0, 0.5),
  strangers: fc.constantFrom(0, 0.2),
  repeats: fc.constant(0),
  unstorable: fc.constantFrom(0, 0.1),
});

describe.each(['traces', 'logs', 'metrics'] as const)('%s', (signal) => {
  const bodies = fc
    .array(fc.tuple(fc.integer(), habits), { minLength: 1, maxLength: 3 })
    .map((list) =>
      list.map(([seed, how]) => {
        const random = dice(seed, 0);
        return writeJson(exportTree(random, signal), how, random);
      }),
    );

  test('of random bodies, all hours together have each record once', () => {
    fc.assert(
      fc.property(bodies, (sent) => {
        const block = blockOf(signal, sent);
        const parts = toEnd(selectLines(block, null, NOTHING, true));
        const given = parts.flatMap(({ text }) => recordsOf(signal, text));
        expect(sorted(given)).toEqual(sorted(recordsOf(signal, block.text)));
        expect(new Set(parts.map(({ hour }) => hour)).size).toBe(parts.length);
        for (const { hour, text, records } of parts) {
          const times = recordsOf(signal, text).map((record) => timeOf(signal, record));
          expect(records).toBe(times.length);
          for (const ms of times) {
            const isNear = Math.abs(ms - Date.parse(DAY) - DAY_MS / 2) <= 1.5 * DAY_MS;
            expect(hour).toBe(isNear ? new Date(ms).toISOString().slice(0, 13) : null);
          }
        }
      }),
      { numRuns: casesOf(500) },
    );
  });

  test('of random bodies, a filter takes the records that it names', () => {
    const times = fc.constantFrom(null, 0, 1, 1000, 4294, 1_795_000_000_123, 1_795_000_000_124);
    const filters = fc.record({
      sinceMs: times,
      untilMs: times,
      service: fc.constantFrom(null, 'a', '', 'service.name'),
    });
    fc.assert(
      fc.property(bodies, filters, (sent, filter) => {
        const block = blockOf(signal, sent);
        const parts = toEnd(selectLines(block, null, filter, false));
        const wanted = recordsOf(signal, block.text).filter((record) => {
          const ms = timeOf(signal, record) || Date.parse(DAY);
          return (
            ms >= (filter.sinceMs ?? 0) &&
            ms < (filter.untilMs ?? Number.POSITIVE_INFINITY) &&
            (filter.service === null || serviceOf(record) === filter.service)
          );
        });
        expect(parts.flatMap(({ text }) => recordsOf(signal, text))).toEqual(wanted);
      }),
      { numRuns: casesOf(500) },
    );
  });
});

const span = (id: number, at: string) => `{"spanId":"${id}","startTimeUnixNano":${at}}`;
const traces = (...spans: readonly string[]) =>
  Buffer.from(`{"x":1,"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join()}]}]}]}\n`);
const select = (text: Buffer, filter = NOTHING, byHour = false, wanted: number[] | null = null) =>
  toEnd(
    selectLines({ signal: 'traces', text, arrivedOn: DAY, records: 9 }, wanted, filter, byHour),
  );

test('a block that is taken whole is not taken apart', () => {
  const text = traces(span(1, '"1795180000123456789"'), span(2, '1795180000999999999'));
  const [all] = select(text);
  expect(all?.text).toBe(text);
  expect(all?.records).toBe(9);
  const [hour] = select(text, NOTHING, true);
  expect(hour?.text).toBe(text);
  expect(hour).toMatchObject({ hour: '2026-11-20T13', records: 2 });
});

test('the end of a range is not in it, to the nanosecond', () => {
  const text = traces(span(1, '1795000000123999999'), span(2, '1795000000124000000'));
  const at = 1_795_000_000_124;
  const since = select(text, { ...NOTHING, sinceMs: at });
  const until = select(text, { ...NOTHING, untilMs: at });
  expect(since[0]?.text).toEqual(traces(span(2, '1795000000124000000')));
  expect(until[0]?.text).toEqual(traces(span(1, '1795000000123999999')));
  expect(select(text, { ...NOTHING, sinceMs: at + 1 })).toEqual([]);
});

test('days around the day of arrival have hours, further ones and no time have none', () => {
  const at = (iso: string) => `${Date.parse(iso)}000000`;
  const text = traces(
    span(1, at('2026-11-18T23:59:59.999Z')),
    span(2, at('2026-11-19T00:00:00Z')),
    span(3, at('2026-11-21T23:59:59.999Z')),
    span(4, at('2026-11-22T00:00:00Z')),
    span(5, '"0"'),
  );
  const hours = select(text, NOTHING, true).map(({ hour, records }) => [hour, records]);
  expect(hours).toEqual([
    [null, 3],
    ['2026-11-19T00', 1],
    ['2026-11-21T23', 1],
  ]);
});

test('chosen records only, and never fewer than were chosen', () => {
  const text = traces(span(1, '1'), span(2, '2'), span(3, '3'));
  expect(select(text, NOTHING, false, [1, 3])[0]?.text).toEqual(traces(span(2, '2'), span(3, '3')));
  expect(() => select(text, NOTHING, false, [2, 4])).toThrow(RangeError);
});
