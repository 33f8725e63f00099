/** What the tree of a run needs of a record. */
import { expect, test } from 'vitest';

import { JsonWalk } from '../../../src/otlp/lines/json-walk.ts';
import { readNarrow } from '../../../src/otlp/lines/narrow-record.ts';
import { PIECE_BYTES, toEnd } from '../../../src/otlp/pieces.ts';

function read(source: 'span' | 'log', json: string) {
  const bytes = Buffer.from(json);
  return readNarrow(source, new JsonWalk(bytes), bytes);
}
const span = (json: string) => toEnd(read('span', json));
const log = (json: string) => toEnd(read('log', json));

test('a span has its ids, times and status', () => {
  const json = `{ "spanId" : "EEE19B7EC3C1B174", "parentSpanId":"eee19b7ec3c1b173", "attributes" : [ {} ] ,
    "status":{"message":"}","code":2},"startTimeUnixNano":"1795000000000000001",
    "endTimeUnixNano" : 1795000000000000002 , "name":"chat", "spanId2":"x"}`;
  expect(span(json)).toEqual({
    spanId: 'eee19b7ec3c1b174',
    parentSpanId: 'eee19b7ec3c1b173',
    startUnixNano: '1795000000000000001',
    endUnixNano: '1795000000000000002',
    isError: true,
    nameKey: expect.any(Number),
  });
});

test.each([
  ['nothing', '{}'],
  [
    'null',
    '{"spanId":null,"parentSpanId":null,"startTimeUnixNano":null,"status":null,"name":null}',
  ],
  ['zeros', '{"parentSpanId":"0000000000000000","startTimeUnixNano":"0","status":{"code":0}}'],
  ['an empty parent', '{"parentSpanId":"","endTimeUnixNano":0,"status":{},"name":""}'],
])('a span with %s has defaults', (_, json) => {
  expect(span(json)).toEqual({ ...span('{}'), spanId: null, parentSpanId: null, isError: false });
  expect(span(json)).toMatchObject({ startUnixNano: '0', endUnixNano: '0' });
});

test.each([
  ['"1e3"', '1000'],
  ['1e3', '1000'],
  ['"007"', '7'],
  ['"\\u0031"', '1'],
  ['9223372036854775807', '9223372036854775807'],
  ['-0', '0'],
])('a time may be sent as %s', (sent, time) => {
  expect(span(`{"startTimeUnixNano":${sent}}`).startUnixNano).toBe(time);
});

test('of members with one name the last one counts', () => {
  const json =
    '{"startTimeUnixNano":"1","spanId":"eee19b7ec3c1b174","status":{"code":2},' +
    '"startTimeUnixNano":"2","spanId":"eee19b7ec3c1b175","status":{"code":2,"code":"1"}}';
  const found = { startUnixNano: '2', spanId: 'eee19b7ec3c1b175', isError: false };
  expect(span(json)).toMatchObject(found);
});

test('a log record has the time of its event, or of its observation', () => {
  const both = '{"observedTimeUnixNano":"5","timeUnixNano":"3","spanId":"EEE19B7EC3C1B174"}';
  const times = { startUnixNano: '3', endUnixNano: '3' };
  expect(log(both)).toMatchObject({ ...times, spanId: 'eee19b7ec3c1b174', parentSpanId: null });
  const observed = { startUnixNano: '5', endUnixNano: '5', spanId: null };
  expect(log('{"observedTimeUnixNano":"5","spanId":"short"}')).toMatchObject(observed);
  expect(log('{"timeUnixNano":"0","observedTimeUnixNano":"5"}')).toMatchObject(observed);
});

test('equal names have equal keys', () => {
  const key = (name: string) => span(`{"name":"${name}"}`).nameKey;
  expect(key('chat')).toBe(key('chat'));
  expect(new Set(['', 'chat', 'chat ', 'taxt'].map(key)).size).toBe(4);
  expect(log('{"eventName":"chat"}').nameKey).toBe(key('chat'));
});

test('a long record is read in pieces', () => {
  const long = 'x'.repeat(10 * PIECE_BYTES);
  const values = Array.from({ length: PIECE_BYTES }, () => [{}]);
  for (const part of [{ name: long }, { attributes: values }, { status: { message: long } }]) {
    const json = JSON.stringify({ ...part, startTimeUnixNano: '3' });
    const pieces = read('span', json);
    let pauses = 0;
    let step = pieces.next();
    for (; step.done !== true; step = pieces.next()) pauses += 1;
    expect(pauses).toBeGreaterThanOrEqual(Math.floor(json.length / PIECE_BYTES) - 1);
    expect(step.value.startUnixNano).toBe('3');
  }
});
