/**
 * Rows in slabs: the same bytes as the plain way's, none of them written to before its request is
 * released, and little kept alive.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { traceBody } from '../../bench/bodies.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { CopyBuffer } from '../../src/ingest/copy-buffer.ts';
import { RowBytes, type TakenRows } from '../../src/ingest/row-bytes.ts';
import { scanned } from '../otlp/both-ways.ts';

const SLAB_BYTES = 1024 * 1024;
const BILLION = 1_000_000_000n;

const textOf = (text: string) => {
  const bytes = new Uint8Array(text.length + 8);
  bytes.set(Buffer.from(text));
  return { bytes, view: new DataView(bytes.buffer) };
};

/** Writes one row of one text, as a request of its own. */
function writeRow(rows: RowBytes, text: string, bytesExpected = text.length): TakenRows {
  rows.open(bytesExpected);
  rows.row(1, text.length + 10);
  rows.text(textOf(text), 0, text.length);
  return rows.take();
}

const takeRow = (rows: RowBytes, text: string, bytesExpected?: number): Buffer =>
  writeRow(rows, text, bytesExpected).bytes;

function expectedRow(text: string): Buffer {
  const plain = new CopyBuffer();
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
        const plain = new CopyBuffer();
        plain.row(1);
        plain.int64(String(sign * size));
        expect(rows.take().bytes).toEqual(plain.take());
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
      10, 480_000, 5, 530_000, 524_280, 3, 1_048_576, 1_200_000, 1, 360_000, 360_000, 360_000,
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
    const kept = takeRow(rows, 'k'.repeat(800_000), 16);
    const text = 't'.repeat(9_000);
    rows.open(16);
    for (let row = 0; row < 40; row += 1) {
      rows.row(1, text.length + 10);
      rows.text(textOf(text), 0, text.length);
    }
    expect(rows.take().bytes.equals(Buffer.concat(Array(40).fill(expectedRow(text))))).toBe(true);
    expect(kept.equals(expectedRow('k'.repeat(800_000)))).toBe(true);
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

describe('memory of requests that are released', () => {
  const TEXT = 'x'.repeat(400_000);

  test('is used again once all that stand in it are', () => {
    const rows = new RowBytes();
    const [one, two] = [writeRow(rows, TEXT), writeRow(rows, TEXT)];
    expect(one.bytes.buffer).toBe(two.bytes.buffer);
    const three = writeRow(rows, TEXT);
    expect(three.bytes.buffer).not.toBe(one.bytes.buffer);
    one.release();
    // Its neighbour is still read: other memory is taken, and it stays as it is.
    const four = writeRow(rows, 'y'.repeat(700_000));
    expect(two.bytes.equals(expectedRow(TEXT))).toBe(true);
    two.release();
    const buffers = ['z', 'z', 'z'].map((letter) => writeRow(rows, letter.repeat(400_000)));
    expect(buffers.map(({ bytes }) => bytes.buffer)).toContain(one.bytes.buffer);
    expect(three.bytes.equals(expectedRow(TEXT))).toBe(true);
    expect(four.bytes.equals(expectedRow('y'.repeat(700_000)))).toBe(true);
  });

  test('of a large request is used again by the next one of about its size', () => {
    const rows = new RowBytes();
    const write = (length: number): TakenRows => {
      rows.open(length);
      return writeRow(rows, 'l'.repeat(length));
    };
    const one = write(1_500_000);
    const two = write(1_400_000);
    expect(two.bytes.buffer).not.toBe(one.bytes.buffer);
    one.release();
    expect(write(1_450_000).bytes.buffer).toBe(one.bytes.buffer);
    expect(two.bytes.equals(expectedRow('l'.repeat(1_400_000)))).toBe(true);
  });

  test('of a size that is no longer taken makes room for that of others', () => {
    const rows = new RowBytes();
    const writeAll = (count: number, length: number): TakenRows[] =>
      Array.from({ length: count }, () => {
        rows.open(length);
        return writeRow(rows, 'm'.repeat(length));
      });
    const releaseAll = (taken: readonly TakenRows[]): void => {
      for (const { release } of taken) release();
    };
    // More than is kept.
    releaseAll(writeAll(12, 3_500_000));
    const others = writeAll(4, 1_500_000);
    releaseAll(others);
    const again = writeAll(4, 1_500_000).map(({ bytes }) => bytes.buffer);
    expect(new Set(again)).toEqual(new Set(others.map(({ bytes }) => bytes.buffer)));
  });

  test('is released once, however often that is said', () => {
    const rows = new RowBytes();
    const [one, two] = [writeRow(rows, TEXT), writeRow(rows, TEXT)];
    one.release();
    one.release();
    const later = [TEXT, TEXT, TEXT, TEXT].map((text) => writeRow(rows, text));
    expect(later.map(({ bytes }) => bytes.buffer)).not.toContain(two.bytes.buffer);
  });

  test('never holds the rows of two who are both waiting, in whatever order they go', () => {
    const step = fc.record({
      size: fc.integer({ min: 1, max: 600_000 }),
      goes: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const rows = new RowBytes();
        const waiting: { readonly taken: TakenRows; readonly letter: number }[] = [];
        steps.forEach(({ size, goes }, index) => {
          const letter = 97 + (index % 26);
          const text = String.fromCharCode(letter).repeat(size);
          waiting.push({ taken: writeRow(rows, text), letter });
          if (goes < waiting.length) waiting.splice(goes, 1)[0]?.taken.release();
        });
        for (const { taken, letter } of waiting) {
          // Two bytes of fields, four of length; the rest is the text.
          const text = taken.bytes.subarray(6);
          expect(text.equals(Buffer.alloc(text.length, letter))).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
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
    expect(of(span(1), 'r'.repeat(100_000)) - of(span(1))).toBe(200_000);
    const spans = (runs: number): string =>
      Array.from({ length: 100 }, (_, index) => span(1 + (index % runs))).join();
    expect(of(spans(100)) - of(spans(1))).toBeGreaterThan(99 * 400);
  });
});
