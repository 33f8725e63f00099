/** Rows in slabs: the same bytes as the plain way's, none of them used twice, and little kept alive. */
import { describe, expect, test } from 'vitest';
import { traceBody } from '../../bench/bodies.ts';
import { BinaryCopyBuffer } from '../../src/db/binary-copy.ts';
import type { EncodedRequest } from '../../src/db/encoded-request.ts';
import { RowBytes } from '../../src/db/row-bytes.ts';
import { scanned } from '../otlp/both-ways.ts';

const SLAB_BYTES = 256 * 1024;
const BILLION = 1_000_000_000n;

const textOf = (text: string) => {
  const bytes = new Uint8Array(text.length + 8);
  bytes.set(Buffer.from(text));
  return { bytes, view: new DataView(bytes.buffer) };
};

/** Writes one row of one text, as a request of its own. */
function takeRow(rows: RowBytes, text: string, bytesExpected = text.length): Buffer {
  rows.open(bytesExpected);
  rows.row(1, text.length + 10);
  rows.text(textOf(text), 0, text.length);
  return rows.take();
}

function expectedRow(text: string): Buffer {
  const plain = new BinaryCopyBuffer();
  plain.row(1);
  plain.text(text);
  return plain.take();
}

test('integers at every edge of their halves', () => {
  const edges = [0n, 1n, BILLION, 2n ** 31n, 2n ** 32n, 2n ** 48n, 2n ** 62n, 2n ** 63n - 1n];
  for (const edge of edges) {
    for (const beside of [-1n, 0n, 1n]) {
      for (const sign of [1n, -1n]) {
        const size = edge + beside;
        if (size < 0n || size > 2n ** 63n - 1n || (size === 0n && sign < 0n)) continue;
        const rows = new RowBytes();
        rows.open(20);
        rows.row(1, 20);
        rows.int64(Number(size / BILLION), Number(size % BILLION), sign < 0n);
        const plain = new BinaryCopyBuffer();
        plain.row(1);
        plain.int64(String(sign * size));
        expect(rows.take()).toEqual(plain.take());
      }
    }
  }
});

test('texts of every length up to the native copy and past it, at every offset', () => {
  const rows = new RowBytes();
  for (let length = 0; length < 400; length += 1) {
    const text = 'abcdefghijk'.repeat(40).slice(0, length);
    expect(takeRow(rows, text)).toEqual(expectedRow(text));
  }
});

describe('requests one after the other', () => {
  test('of all sizes keep their bytes, and share none', () => {
    const rows = new RowBytes();
    const sizes = [
      10, 120_000, 5, 140_000, 131_060, 3, 262_144, 300_000, 1, 90_000, 90_000, 90_000,
    ];
    const texts = [...sizes, ...sizes].map((size, index) =>
      String.fromCharCode(97 + (index % 26)).repeat(size),
    );
    // What rows take is not always what was expected of them.
    const taken = texts.map((text, index) => takeRow(rows, text, index % 3 === 0 ? 16 : undefined));
    taken.forEach((chunk, index) => {
      expect(chunk.equals(expectedRow(texts[index] ?? ''))).toBe(true);
    });
    for (const [index, one] of taken.entries()) {
      for (const other of taken.slice(index + 1)) {
        if (one.buffer !== other.buffer) continue;
        const isApart =
          one.byteOffset + one.length <= other.byteOffset ||
          other.byteOffset + other.length <= one.byteOffset;
        expect(isApart).toBe(true);
      }
    }
  });

  test('a slab that ends in the middle of a request’s rows', () => {
    const rows = new RowBytes();
    const kept = takeRow(rows, 'k'.repeat(200_000), 16);
    const text = 't'.repeat(9_000);
    rows.open(16);
    for (let row = 0; row < 12; row += 1) {
      rows.row(1, text.length + 10);
      rows.text(textOf(text), 0, text.length);
    }
    expect(rows.take().equals(Buffer.concat(Array(12).fill(expectedRow(text))))).toBe(true);
    expect(kept.equals(expectedRow('k'.repeat(200_000)))).toBe(true);
  });

  test('rows that were given up are written over, those taken before are not', () => {
    const rows = new RowBytes();
    const before = takeRow(rows, 'before');
    rows.open(100);
    rows.row(1, 50);
    rows.text(textOf('given up'), 0, 8);
    expect(takeRow(rows, 'behind')).toEqual(expectedRow('behind'));
    expect(before).toEqual(expectedRow('before'));
  });
});

describe('memory kept by requests that wait', () => {
  const held = (requests: readonly EncodedRequest[]): { counted: number; kept: number } => {
    const buffers = new Set(
      requests.flatMap(({ chunks }) => [...chunks.values()].map((c) => c.buffer)),
    );
    return {
      counted: requests.reduce((sum, { bytes }) => sum + bytes, 0),
      kept: [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0),
    };
  };

  test('is little more than what is counted, in whatever sizes they come', () => {
    const sizes = [1, 1, 70, 1, 3, 40, 1, 300, 1, 120];
    const all = Array.from(
      { length: 400 },
      (_, index) => scanned('traces', traceBody(index, sizes[index % sizes.length] ?? 1)).encoded,
    );
    const waiting = held(all.slice(-100));
    expect(waiting.kept).toBeLessThan(2 * waiting.counted + 2 * SLAB_BYTES);
  });

  test('counts resources and runs, not rows alone', () => {
    const span = (trace: number): string =>
      `{"traceId":"${trace.toString(16).padStart(32, '0')}","spanId":"${'1'.repeat(16)}"}`;
    const of = (spans: string, resource = ''): number => {
      const attributes = `[{"key":"k","value":{"stringValue":"${resource}"}}]`;
      const body = `{"resourceSpans":[{"resource":{"attributes":${attributes}},"scopeSpans":[{"spans":[${spans}]}]}]}`;
      return scanned('traces', Buffer.from(body)).encoded.bytes;
    };
    expect(of(span(1), 'r'.repeat(1_000_000)) - of(span(1))).toBe(2_000_000);
    const spans = (runs: number): string =>
      Array.from({ length: 100 }, (_, index) => span(1 + (index % runs))).join();
    expect(of(spans(100)) - of(spans(1))).toBeGreaterThan(99 * 400);
  });
});
