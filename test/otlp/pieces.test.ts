/** Decoding piece by piece: how large the pieces are, and that two bodies are never scanned at a time. */
import { afterEach, expect, test } from 'vitest';
import { LogRuns } from '../../src/db/log-runs.ts';
import { decodeInPieces, decodeRequest } from '../../src/main/request-decoder.ts';
import { PIECE_BYTES, type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { holdsTooManyStructures } from '../../src/otlp/structure-count.ts';

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
  const pieces = countPieces(decodeInPieces('traces', large, context()));
  expect(pieces).toBeGreaterThan(expected * 0.95);
  expect(pieces).toBeLessThanOrEqual(Math.ceil(expected));
  expect(countPieces(decodeInPieces('traces', bodyOf(50), context()))).toBe(1);
  expect(countPieces(holdsTooManyStructures(large))).toBe(Math.ceil(expected));
});

test.each([
  ['resources', (filler: string) => `{"resource":{"a":"${filler}"}}`],
  ['scopes', (filler: string) => `{"scopeSpans":[{"scope":{"name":"${filler}"}}]}`],
])('a body of nothing but %s is decoded in pieces too', (_, resource) => {
  const resources = Array.from({ length: 5000 }, (__, number) => resource(`${number}`.repeat(50)));
  const body = Buffer.from(`{"resourceSpans":[${resources.join()}]}`);
  const pieces = countPieces(decodeInPieces('traces', body, context()));
  expect(pieces).toBeGreaterThan((body.length / PIECE_BYTES) * 0.95);
});

test('pauses change nothing of the rows', () => {
  const body = bodyOf(1000);
  const whole = decodeRequest('traces', body, context());
  const pieces = decodeInPieces('traces', body, context());
  let piece = pieces.next();
  while (piece.done !== true) {
    // What others do meanwhile: a body that is not scanned, memory that is written to.
    JSON.parse(bodyOf(1).toString());
    piece = pieces.next();
  }
  const chunks = (result: typeof whole): unknown =>
    result.ok ? [...result.request.encoded.chunks] : result;
  expect(chunks(piece.value)).toEqual(chunks(whole));
});

test('a second body is not begun while one is paused, and is fine once that is over', () => {
  open = decodeInPieces('traces', bodyOf(1000), context());
  open.next();
  expect(() => decodeRequest('traces', bodyOf(1), context())).toThrow('being scanned');
  expect(toEnd(open as ReturnType<typeof decodeInPieces>).ok).toBe(true);
  expect(decodeRequest('traces', bodyOf(1), context()).ok).toBe(true);
});

test('one that is given up in the middle leaves the way free', () => {
  open = decodeInPieces('traces', bodyOf(1000), context());
  open.next();
  open.return(undefined);
  expect(decodeRequest('traces', bodyOf(1), context()).ok).toBe(true);
});
