/** Inflating in one call gives what zlib gives, or leaves it: never a part, never more than was declared. */
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContentDecoder, type DecodingLimits } from '../../../src/http/ingest/content-encoding.ts';
import { GzipInflater, gunzippedSize } from '../../../src/http/ingest/inflate-at-once.ts';
import { casesOf } from '../../support/cases.ts';

const KIB = 1024;
const inflater = new GzipInflater();
const allocate = (bytes: number): Buffer => Buffer.alloc(bytes, 0xff);
const inTurn = async <T>(work: () => T): Promise<T> => work();
/** Sixteen letters in no order: half its size once deflated. */
function text(bytes: number): Buffer {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 97 + (state >>> 28);
  };
  return Buffer.from(Array.from({ length: bytes }, next));
}

/** What zlib says: the bytes, or the code of its error. */
function expected(body: Buffer): Buffer | string {
  try {
    return gunzipSync(body);
  } catch (error) {
    return String(Reflect.get(error as Error, 'code'));
  }
}

const broken = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(fc.uint8Array({ maxLength: 3000 }), fc.nat(), fc.nat(255)).map(([bytes, at, value]) => {
    const body = gzipSync(Buffer.from(bytes));
    body[at % body.length] = value;
    return body;
  }),
  fc
    .tuple(fc.uint8Array({ maxLength: 3000 }), fc.nat())
    .map(([bytes, at]) => gzipSync(Buffer.from(bytes)).subarray(0, at)),
  fc
    .array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 3 })
    .map((members) => Buffer.concat(members.map((bytes) => gzipSync(Buffer.from(bytes))))),
);

test('whatever the bytes, and whatever size is believed: all of it, nothing, or zlib’s error', async () => {
  await fc.assert(
    fc.asyncProperty(broken, fc.nat(4000), async (body, size) => {
      const whole = expected(body);
      const taken = await inflater
        .inflate(body, size, allocate, inTurn)
        .catch((error: unknown) => String(Reflect.get(error as Error, 'code')));
      if (taken === null) expect(Buffer.isBuffer(whole) && whole.length <= size).toBe(false);
      else expect(taken).toEqual(whole);
    }),
    { numRuns: casesOf(500) },
  );
});

test('a body says its size in its last four bytes', () => {
  expect(gunzippedSize(gzipSync(text(70_000)))).toBe(70_000);
  expect(gunzippedSize(gzipSync(''))).toBe(0);
  expect(gunzippedSize(Buffer.alloc(17, 1))).toBeNull();
});

test('a small body is inflated into the given memory, after failures too', async () => {
  const memory = Buffer.alloc(64 * KIB);
  const given = (): Buffer => memory;
  for (const bytes of [1000, 64 * KIB - 1, 0, 1]) {
    const body = text(bytes);
    const inflated = await inflater.inflate(gzipSync(body), bytes, given, inTurn);
    expect(inflated?.buffer).toBe(memory.buffer);
    expect(inflated).toEqual(body);
    const cut = gzipSync(body).subarray(0, -9);
    await expect(inflater.inflate(cut, bytes, given, inTurn)).rejects.toThrow('unexpected end');
  }
});

test('what holds the event loop for long does not happen on it', async () => {
  let turns = 0;
  const counted = async <T>(work: () => T): Promise<T> => {
    turns += 1;
    return work();
  };
  const small = text(256 * KIB);
  expect(await inflater.inflate(gzipSync(small), small.length, allocate, counted)).toEqual(small);
  expect(turns).toBe(1);
  const large = text(256 * KIB + 1);
  expect(await inflater.inflate(gzipSync(large), large.length, allocate, counted)).toEqual(large);
  expect(turns).toBe(1);
});

test('a body that is long and becomes nothing is not inflated on the event loop either', async () => {
  const member = gzipSync('');
  const body = Buffer.concat(Array.from({ length: 20_000 }, () => member));
  expect(gunzippedSize(body)).toBe(0);
  const taken = inflater.inflate(body, 0, allocate, () =>
    Promise.reject(new Error('on the event loop')),
  );
  expect(await taken).toEqual(Buffer.alloc(0));
});

describe('in a request', () => {
  const decoder = new ContentDecoder();
  const limits = (reserve: (bytes: number) => boolean): DecodingLimits => ({
    workspaceId: 1,
    bytesMax: 1 << 30,
    reserve,
    allocate,
    takeTurn: inTurn,
    whenUnawaited: () => {},
  });

  test('an honest body has room for exactly what it becomes', async () => {
    const reserved: number[] = [];
    const note = (bytes: number): boolean => reserved.push(bytes) > 0;
    const body = text(150_000);
    const wire = gzipSync(body);
    expect(await decoder.decode(wire, 'gzip', limits(note), (decoded) => decoded)).toEqual(body);
    expect(reserved).toEqual([150_000]);
  });

  test('one that says less than it becomes is inflated all the same', async () => {
    const body = Buffer.concat([text(100_000), text(10)]);
    const wire = Buffer.concat([gzipSync(text(100_000)), gzipSync(text(10))]);
    expect(gunzippedSize(wire)).toBe(10);
    const decoded = await decoder.decode(
      wire,
      'gzip',
      limits(() => true),
      (bytes) => bytes,
    );
    expect(decoded.equals(body)).toBe(true);
  });

  test('room that was taken for a wrong size is used before more is reserved', async () => {
    const parts = [text(200_000), text(100_000)];
    const wire = Buffer.concat(parts.map((part) => gzipSync(part)));
    let room = 300_000;
    const reserve = (bytes: number): boolean => {
      room -= bytes;
      return room >= 0;
    };
    const length = await decoder.decode(wire, 'gzip', limits(reserve), (bytes) => bytes.length);
    expect(length).toBe(300_000);
    expect(room).toBe(0);
  });

  test('one that says far more than telemetry becomes gets no room for it', async () => {
    const wire = gzipSync(text(1000));
    wire.writeUInt32LE(0xffff_fff0, wire.length - 4);
    let reserved = 0;
    const note = (bytes: number): boolean => {
      reserved += bytes;
      return true;
    };
    await expect(
      decoder.decode(wire, 'gzip', limits(note), (bytes) => bytes),
    ).rejects.toMatchObject({ code: 'undecodable_body' });
    expect(reserved).toBeLessThan(64 * KIB);
  });
});
