/** Decoding piece by piece: how large the pieces are, and that two bodies are never scanned at a time. */

import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { PLAIN_BYTES_MAX } from '../../src/ingest/ingest.ts';
import type { ReadyResult } from '../../src/ingest/plain-decoder.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { PIECE_BYTES, type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { holdsTooManyStructures } from '../../src/otlp/structure-count.ts';
import { decodeInPieces, decodeRequest } from '../support/decoding.ts';

const SPAN_TEXT = 'x'.repeat(1000);
const context = () => ({ workspaceId: 1, arrivedAtMs: 1_700_000_000_000, logRuns: new LogRuns() });

function bodyOf(spans: number): Buffer {
  const list = Array.from({ length: spans }, (_, number) => ({
    traceId: (number + 1).toString(16).padStart(32, '0'),
    spanId: (number + 1).toString(16).padStart(16, '0'),
    name: 'chat',
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: '1700000001000000000',
    attributes: [{ key: 'gen_ai.prompt', value: { stringValue: SPAN_TEXT } }],
  }));
  return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] }));
}

/** Fails the test when a body is left to another thread. */
const nowhere = (): Promise<ReadyResult> => {
  throw new Error('decoded elsewhere');
};
const inPieces = (signal: Signal, body: Buffer, elsewhere = nowhere) =>
  decodeInPieces(signal, body, context(), elsewhere);

let open: Pieces<unknown> | null = null;
afterEach(() => {
  open?.return(undefined);
  open = null;
});

function countPieces(pieces: Pieces<unknown>): number {
  let count = 1;
  while (pieces.next().done !== true) count += 1;
  return count;
}

test('a large body is decoded in pieces of about a known size, a small one in one', () => {
  const large = bodyOf(2000);
  const expected = large.length / PIECE_BYTES;
  const pieces = countPieces(inPieces('traces', large));
  // It is scanned, its records are found, and lines are cut.
  expect(pieces).toBeGreaterThan(2 * expected);
  expect(pieces).toBeLessThanOrEqual(Math.ceil(3 * expected));
  expect(countPieces(inPieces('traces', bodyOf(50)))).toBe(1);
  expect(countPieces(holdsTooManyStructures(large))).toBe(Math.ceil(expected));
});

test.each([
  ['resources', (filler: string) => `{"resource":{"a":"${filler}"}}`],
  ['scopes', (filler: string) => `{"scopeSpans":[{"scope":{"name":"${filler}"}}]}`],
])('a body of nothing but %s is decoded in pieces too', (_, resource) => {
  const resources = Array.from({ length: 5000 }, (__, number) => resource(`${number}`.repeat(50)));
  const body = Buffer.from(`{"resourceSpans":[${resources.join()}]}`);
  const pieces = countPieces(inPieces('traces', body));
  expect(pieces).toBeGreaterThan((body.length / PIECE_BYTES) * 0.95);
});

test('pauses change nothing of the lines', () => {
  const body = bodyOf(1000);
  const whole = decodeRequest('traces', body, context());
  const pieces = inPieces('traces', body);
  let piece = pieces.next();
  while (piece.done !== true) {
    // What others do meanwhile: a body that is not scanned, memory that is written to.
    JSON.parse(bodyOf(1).toString());
    piece = pieces.next();
  }
  // Of a megabyte, for which `toEqual` takes seconds.
  expect(isDeepStrictEqual(piece.value, whole)).toBe(true);
});

test('a second body is not begun while one is paused, and is fine once that is over', () => {
  open = inPieces('traces', bodyOf(1000));
  open.next();
  expect(() => decodeRequest('traces', bodyOf(1), context())).toThrow('being scanned');
  expect(toEnd(open)).toMatchObject({ ok: true });
  expect(decodeRequest('traces', bodyOf(1), context()).ok).toBe(true);
});

test('one that is given up in the middle leaves the way free', () => {
  open = inPieces('traces', bodyOf(1000));
  open.next();
  open.return(undefined);
  expect(decodeRequest('traces', bodyOf(1), context()).ok).toBe(true);
});

describe('what would hold the event loop', () => {
  const elsewhere = Promise.resolve({ ok: false, message: 'elsewhere', path: '' } as const);
  const decodeElsewhere = (body: Buffer) => toEnd(inPieces('traces', body, () => elsewhere));
  const filler = (bytes: number): string => 'x'.repeat(bytes);
  const span = (fields: object) => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), ...fields });
  const bodyWith = (fields: object, spans: object = {}) =>
    Buffer.from(
      JSON.stringify({
        resourceSpans: [{ scopeSpans: [{ spans: [span({}), span(spans), span({})] }], ...fields }],
      }),
    );

  test.each([
    ['a span of a megabyte', bodyWith({}, { name: filler(1e6) })],
    ['a span with 20,000 links', bodyWith({}, { links: Array(20_000).fill(span({})) })],
    [
      'a span with 40,000 events',
      bodyWith({}, { events: Array(40_000).fill({ name: 'an event' }) }),
    ],
    ['an unknown field of a megabyte', bodyWith({}, { unknown: filler(1e6) })],
    ['a resource of a megabyte', bodyWith({ resource: { attributes: [{ key: filler(1e6) }] } })],
    ['a megabyte of space behind', Buffer.from(`${bodyWith({})}${' '.repeat(1e6)}`)],
    ['a megabyte of space before', Buffer.from(`${' '.repeat(1e6)}${bodyWith({})}`)],
    [
      'a span that is rejected among many small ones',
      Buffer.from(bodyOf(200).toString().replace('"chat"', '1')),
    ],
    ['a megabyte that is no JSON', Buffer.from(filler(1e6))],
  ])('%s is decoded elsewhere', (_, body) => {
    expect(body.length).toBeGreaterThan(PLAIN_BYTES_MAX);
    expect(decodeElsewhere(body)).toBe(elsewhere);
    expect(decodeRequest('traces', bodyOf(1), context()).ok).toBe(true);
  });

  test('small bodies are decoded here whatever they hold, large ones of small records as well', () => {
    const small = Buffer.from(bodyOf(1).toString().replace('"chat"', '1'));
    expect(toEnd(inPieces('traces', small))).toMatchObject({ request: { rejections: [{}] } });
    expect(toEnd(inPieces('traces', bodyOf(2000)))).toMatchObject({ ok: true });
    expect(toEnd(inPieces('traces', bodyWith({}, { name: filler(200_000) })))).toMatchObject({
      ok: true,
    });
  });
});
