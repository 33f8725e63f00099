/**
 * The bytes of binary COPY, compared with a builder of this file's own that knows only the manual's
 * format. PostgreSQL reads them in `test/db/telemetry/copy-statement.test.ts`.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COPY_HEADER, COPY_TRAILER } from '../../src/db/telemetry/copy-statement.ts';
import { CopyBuffer } from '../../src/ingest/copy-buffer.ts';
import { anyCharacter } from '../support/any-character.ts';

// ── The independent builder: PostgreSQL manual, COPY, "Binary Format" ────────────────────────

function viewed(bytes: number, write: (view: DataView) => void): number[] {
  const view = new DataView(new ArrayBuffer(bytes));
  write(view);
  return [...new Uint8Array(view.buffer)];
}

const int16 = (value: number) => viewed(2, (view) => view.setInt16(0, value));
const int32 = (value: number) => viewed(4, (view) => view.setInt32(0, value));
const int64 = (value: bigint) => viewed(8, (view) => view.setBigInt64(0, value));
const float64 = (value: number) => viewed(8, (view) => view.setFloat64(0, value));
const utf8 = (value: string) => [...new TextEncoder().encode(value)];
const hex = (value: string) => (value.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
const field = (bytes: number[]) => [...int32(bytes.length), ...bytes];
const NULL_FIELD = int32(-1);

function written(write: (out: CopyBuffer) => void): number[] {
  const out = new CopyBuffer();
  write(out);
  return [...out.take()];
}

const UUID = '0123456789abcdeffedcba9876543210';
const SPAN_ID = '00ff10a5e0b1c2d3';
const INT64_MIN = '-9223372036854775808';
const INT64_MAX = '9223372036854775807';
const SURROGATES = 'a\u{1F600}é\u{10FFFF}漢';

describe('bytes', () => {
  test('header and trailer', () => {
    const signature = [...utf8('PGCOPY\n'), 0xff, ...utf8('\r\n'), 0];
    expect([...COPY_HEADER]).toEqual([...signature, ...int32(0), ...int32(0)]);
    expect([...COPY_TRAILER]).toEqual(int16(-1));
  });

  test('a row opens with its field count', () => {
    expect(written((out) => out.row(20))).toEqual(int16(20));
    expect(written((out) => out.row(0))).toEqual(int16(0));
  });

  test('null', () => {
    expect(written((out) => out.null())).toEqual(NULL_FIELD);
  });

  test.each([0, 1, -1, 32_767, -32_768])('int16 %d', (value) => {
    expect(written((out) => out.int16(value))).toEqual(field(int16(value)));
  });

  test.each([0, -1, 2_147_483_647, -2_147_483_648])('int32 %d', (value) => {
    expect(written((out) => out.int32(value))).toEqual(field(int32(value)));
  });

  test.each(['0', '-1', '9007199254740993', INT64_MIN, INT64_MAX])('int64 %s', (value) => {
    expect(written((out) => out.int64(value))).toEqual(field(int64(BigInt(value))));
  });

  test('a counter is null at 0 and reaches the whole of uint32', () => {
    expect(written((out) => out.counter(0))).toEqual(NULL_FIELD);
    expect(written((out) => out.counter(1))).toEqual(field(int64(1n)));
    expect(written((out) => out.counter(4_294_967_295))).toEqual(field(int64(4_294_967_295n)));
  });

  test.each([0, -0, 1.5, Number.MAX_VALUE, Number.MIN_VALUE, Number.NaN, Infinity, -Infinity])(
    'float64 %d',
    (value) => {
      expect(written((out) => out.float64(value))).toEqual(field(float64(value)));
    },
  );

  test('uuid and span id', () => {
    expect(written((out) => out.uuid(UUID))).toEqual(field(hex(UUID)));
    expect(written((out) => out.spanId(SPAN_ID))).toEqual(field(hex(SPAN_ID)));
  });

  test.each([
    ['short', '0123'],
    ['empty', ''],
    ['not hexadecimal', 'zz23456789abcdeffedcba9876543210'],
    ['not hexadecimal at the end', '0123456789abcdeffedcba98765432zz'],
  ])('refuses an id that is %s', (_what, value) => {
    const out = new CopyBuffer();
    expect(() => out.uuid(value)).toThrow(new RangeError('expected 16 bytes of hexadecimal'));
  });

  test.each(['', 'plain', SURROGATES, '\u0001\u007f', '\uFFFD'])('text %j', (value) => {
    expect(written((out) => out.text(value))).toEqual(field(utf8(value)));
  });

  test.each([
    ['1970-01-01', 0, -10_957],
    ['the last millisecond of 1999', Date.UTC(2000, 0, 1) - 1, -1],
    ['2000-01-01', Date.UTC(2000, 0, 1), 0],
    ['late on a leap day', Date.UTC(2028, 1, 29, 23, 59, 59, 999), 10_286],
  ])('date %s', (_what, epochMs, days) => {
    expect(written((out) => out.date(epochMs))).toEqual(field(int32(days)));
  });

  test('any text, with a neighbour after it', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (value) => {
        const out = new CopyBuffer();
        out.text(value);
        out.int16(7);
        const expected = Buffer.from([...field(utf8(value)), ...field(int16(7))]);
        expect(out.take().equals(expected)).toBe(true);
      }),
    );
  });
});

describe('the buffer', () => {
  test.each([65_530, 65_531, 65_532, 65_536, 200_000, 9_000_000])(
    'grows around a text of %d bytes and keeps what was before and after it',
    (length) => {
      const value = 'é'.repeat(length / 2) + 'x'.repeat(length % 2);
      const out = new CopyBuffer();
      out.int64(INT64_MIN);
      out.text(value);
      out.spanId(SPAN_ID);
      const expected = Buffer.concat([
        Buffer.from(field(int64(BigInt(INT64_MIN)))),
        Buffer.from(int32(length)),
        Buffer.from(value),
        Buffer.from(field(hex(SPAN_ID))),
      ]);
      expect(out.length).toBe(expected.length);
      expect(out.take().equals(expected)).toBe(true);
    },
  );

  test('every field may be the one that makes it grow', () => {
    const writes: ((out: CopyBuffer) => void)[] = [
      (out) => out.row(3),
      (out) => out.null(),
      (out) => out.int16(1),
      (out) => out.int32(1),
      (out) => out.int64('1'),
      (out) => out.counter(1),
      (out) => out.counter(0),
      (out) => out.float64(1),
      (out) => out.uuid(UUID),
      (out) => out.spanId(SPAN_ID),
      (out) => out.text('漢'),
      (out) => out.date(0),
    ];
    for (const write of writes) {
      const alone = written(write);
      const out = new CopyBuffer();
      // An empty text is four bytes long, so the first 64 KiB end up exactly full.
      while (out.length < 65_536) out.text('');
      write(out);
      expect([...out.take().subarray(-alone.length)]).toEqual(alone);
    }
  });

  test('starts again after take and clear, and what was taken stays as it was', () => {
    const out = new CopyBuffer();
    out.text('first');
    const first = out.take();
    expect(out.length).toBe(0);
    out.text('dropped');
    out.clear();
    out.text('other');
    expect([...out.take()]).toEqual(field(utf8('other')));
    expect([...first]).toEqual(field(utf8('first')));
  });
});
