/** Records of a block are found by their numbers, whatever lies between them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordRanges } from '../../../src/model/record-ranges.ts';
import { findRecords, recordsOf } from '../../../src/otlp/lines/block-records.ts';
import { cutLines, linesOf } from '../../../src/otlp/lines/lines.ts';
import { decodeLogs } from '../../../src/otlp/logs.ts';
import { PIECE_BYTES, toEnd } from '../../../src/otlp/pieces.ts';
import { decodeTraces } from '../../../src/otlp/traces.ts';
import { casesOf } from '../../support/cases.ts';
import { lineBytes } from '../../support/decoding.ts';
import { dice, exportTree } from '../export-trees.ts';
import { type Habits, writeJson } from '../json-writer.ts';

const DECODERS = { traces: decodeTraces, logs: decodeLogs };
type StepSignal = keyof typeof DECODERS;

/** The lines of bodies as a block's text, and its records. */
function blockOf(signal: StepSignal, bodies: readonly Buffer[]) {
  let records = 0;
  const lines: Buffer[] = [];
  for (const body of bodies) {
    const result = DECODERS[signal](body);
    if (!result.ok) continue;
    const count = result.request.spans.length + result.request.logs.length;
    records += count;
    for (const { parts } of toEnd(linesOf(signal, body, count, result.accepted))) {
      lines.push(...parts, Buffer.from('\n'));
    }
  }
  return { text: Buffer.concat(lines), records };
}

const read = (signal: StepSignal, text: Buffer, wanted: RecordRanges) =>
  toEnd(recordsOf(signal, text, wanted)).map(({ ordinal, bytes, origin }) => ({
    ordinal,
    record: JSON.parse(bytes.toString()),
    origin,
  }));

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
  const [resources, scopes, list] =
    signal === 'traces'
      ? (['resourceSpans', 'scopeSpans', 'spans'] as const)
      : (['resourceLogs', 'scopeLogs', 'logRecords'] as const);

  test('any of them, with the resource and scope that enclose them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer(), { minLength: 1, maxLength: 3 }),
        habits,
        fc.uniqueArray(fc.nat(40)),
        (seeds, how, bounds) => {
          const bodies = seeds.map((seed) => {
            const random = dice(seed, 0.02);
            return Buffer.from(writeJson(exportTree(random, signal), how, random));
          });
          const { text, records } = blockOf(signal, bodies);
          const expected = text
            .toString()
            .split('\n')
            .slice(0, -1)
            .flatMap((line) => JSON.parse(line)[resources] ?? [])
            .flatMap((resource) =>
              (resource[scopes] ?? []).flatMap((scope: Record<string, unknown>) =>
                ((scope[list] ?? []) as unknown[]).map((record) => ({
                  record,
                  resource: { ...resource, [scopes]: [] },
                  scope: { ...scope, [list]: [] },
                })),
              ),
            );
          expect(expected).toHaveLength(records);
          const wanted = [...bounds].sort((one, other) => one - other).slice(bounds.length % 2);
          const isWanted = (number: number): boolean =>
            wanted.filter((bound) => bound <= number).length % 2 === 1;
          const own = expected.flatMap(({ record }, ordinal) =>
            isWanted(ordinal) ? [{ ordinal, record }] : [],
          );
          const found = read(signal, text, wanted);
          expect(found.map(({ ordinal, record }) => ({ ordinal, record }))).toEqual(own);
          for (const { ordinal, origin } of how.unstorable === 0 ? found : []) {
            expect(origin.resource).toEqual(expected[ordinal]?.resource);
            expect(origin.scope).toEqual(expected[ordinal]?.scope);
          }
        },
      ),
      { numRuns: casesOf(300, 10) },
    );
  });
});

const span = (name: string): string => `{"name":"${name}"}`;
const line = (names: readonly string[], service = 'a'): string =>
  `{"resourceSpans":[{"resource":{"s":"${service}"},"scopeSpans":[{"spans":[${names.map(span)}]}]}]}\n`;

test('records with equal heads in a row share their origin', () => {
  const text = Buffer.from(line(['0', '1']) + line(['2']) + line(['3'], 'b'));
  const origins = read('traces', text, [0, 4]).map(({ origin }) => origin);
  expect(origins[1]).toBe(origins[0]);
  expect(origins[2]).toBe(origins[0]);
  expect(origins[3]).not.toBe(origins[0]);
  expect(origins[3]?.resource).toEqual({ resource: { s: 'b' }, scopeSpans: [] });
  expect(origins[3]?.scope).toEqual({ spans: [] });
});

test('of members with the same name the last one counts', () => {
  const list = (names: readonly string[]) => `"spans":[${names.map(span)}]`;
  const twice = `{${list(['x', 'y'])},${list(['0', '1', '2'])}}`;
  const text = Buffer.from(`{"resourceSpans":[{"scopeSpans":[${twice}]}]}\n${line(['3'])}`);
  const names = read('traces', text, [0, 2, 3, 4]).map(({ record }) => record.name);
  expect(names).toEqual(['0', '1', '3']);
});

test('numbers that the block does not have are ignored', () => {
  const text = Buffer.from(line(['0', '1']));
  expect(read('traces', text, [1, 9]).map(({ ordinal }) => ordinal)).toEqual([1]);
  expect(read('traces', text, [])).toEqual([]);
  expect(read('traces', Buffer.alloc(0), [0, 1])).toEqual([]);
  expect(read('traces', Buffer.from('[1]\n7\n'), [0, 1])).toEqual([]);
});

test('lines after the last wanted record are not read', () => {
  const text = Buffer.from(`${line(['0'])}{"cut`);
  expect(read('traces', text, [0, 1])).toHaveLength(1);
  expect(() => read('traces', text, [0, 2])).toThrow(RangeError);
});

test('records can be joined to lines again', () => {
  const text = Buffer.from(line(['0', '1']) + line(['2', '3'], 'b'));
  const found = toEnd(findRecords('traces', text, [1, 3]));
  const lines = toEnd(cutLines(text, found)).map((line) => lineBytes(line).toString());
  expect(lines).toEqual([
    '{"resourceSpans":[{"resource":{"s":"a"},"scopeSpans":[{"spans":[{"name":"1"}]}]}]}',
    '{"resourceSpans":[{"resource":{"s":"b"},"scopeSpans":[{"spans":[{"name":"2"}]}]}]}',
  ]);
});

test('a large block is read in pieces', () => {
  const names = Array.from({ length: 3000 }, (_, index) => `${index}`.padEnd(100, '.'));
  const pieces = recordsOf('traces', Buffer.from(line(names)), [2999, 3000]);
  let pauses = 0;
  while (pieces.next().done !== true) pauses += 1;
  expect(pauses).toBe(Math.floor((3000 * 112) / PIECE_BYTES));
});
