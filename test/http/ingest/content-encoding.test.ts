/** Undoing Content-Encoding: what is taken, what is refused, and where a bomb stops. */
import zlib, { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  ContentDecoder,
  checkEncoding,
  DENSE_AT_ONCE,
  type DecodingLimits,
} from '../../../src/http/ingest/content-encoding.ts';

const KIB = 1024;

import { waitFor } from '../../support/wait-for.ts';

const decoder = new ContentDecoder();

const decodeBody = (wire: Buffer, encoding: string, limits: DecodingLimits): Promise<Buffer> =>
  decoder.decode(wire, encoding, limits, (decoded) => decoded);

const takeTurn = async <T>(work: () => T): Promise<T> => work();
const ROOMY: DecodingLimits = {
  workspaceId: 1,
  bytesMax: 1 << 30,
  reserve: () => true,
  allocate: (bytes) => Buffer.alloc(bytes),
  takeTurn,
  whenUnawaited: () => {},
};
const BODY = Buffer.from(JSON.stringify({ text: 'é\u{1F600}'.repeat(100_000) }));

test.each(['', 'identity', 'gzip', 'GZIP', ' gzip ', 'x-gzip', 'deflate', 'Identity'])(
  '"%s" is taken',
  (encoding) => {
    expect(() => checkEncoding(encoding)).not.toThrow();
  },
);

test.each(['br', 'compress', 'gzip, gzip', 'gzip,', 'snappy', '*'])(
  '"%s" is refused',
  (encoding) => {
    expect(() => checkEncoding(encoding)).toThrow(
      expect.objectContaining({
        code: 'unsupported_encoding',
        message: expect.stringMatching(/^Content-Encoding must be one of identity, gzip, deflate/),
      }),
    );
  },
);

describe('decoding', () => {
  test.each<[string, Buffer]>([
    ['', BODY],
    ['identity', BODY],
    ['gzip', gzipSync(BODY)],
    ['X-Gzip', gzipSync(BODY)],
    ['deflate', deflateSync(BODY)],
    ['gzip', Buffer.concat([gzipSync(BODY.subarray(0, 999)), gzipSync(BODY.subarray(999))])],
  ])('%s gives the body back', async (encoding, wire) => {
    expect((await decodeBody(wire, encoding, ROOMY)).equals(BODY)).toBe(true);
  });

  test('an empty body is empty', async () => {
    expect(await decodeBody(gzipSync(''), 'gzip', ROOMY)).toEqual(Buffer.alloc(0));
  });

  test.each<[string, string, Buffer]>([
    ['plain text', 'gzip', BODY],
    ['cut off', 'gzip', gzipSync(BODY).subarray(0, -9)],
    ['a broken checksum', 'gzip', Buffer.concat([gzipSync(BODY).subarray(0, -8), Buffer.alloc(8)])],
    ['gzip', 'deflate', gzipSync(BODY)],
    ['deflate without its header', 'deflate', deflateRawSync(BODY)],
  ])('%s, sent as %s, is undecodable', async (_what, encoding, wire) => {
    await expect(decodeBody(wire, encoding, ROOMY)).rejects.toMatchObject({
      code: 'undecodable_body',
      message: `The body is not valid ${encoding}.`,
    });
  });
});

describe('limits', () => {
  test.each(['gzip', 'deflate'])('%s: a bomb stops at the limit, not after', async (encoding) => {
    const bomb = (encoding === 'gzip' ? gzipSync : deflateSync)(Buffer.alloc(256 * KIB * KIB));
    let reserved = 0;
    const reserve = (bytes: number): boolean => {
      reserved += bytes;
      return true;
    };
    const bytesMax = 1000 * KIB;
    await expect(decodeBody(bomb, encoding, { ...ROOMY, bytesMax, reserve })).rejects.toMatchObject(
      {
        code: 'body_too_large',
        message: `The body is larger than ${bytesMax} bytes.`,
      },
    );
    expect(reserved).toBeLessThanOrEqual(32 * bomb.length);
  });

  test('a dense body within the limit is decoded, one of a workspace at a time', async () => {
    const dense = gzipSync(Buffer.alloc(8 * KIB * KIB, ' '));
    let inMemory = 0;
    let most = 0;
    const decoded = await Promise.all(
      Array.from({ length: 8 }, () => {
        let held = 0;
        const reserve = (bytes: number): boolean => {
          held += bytes;
          inMemory += bytes;
          most = Math.max(most, inMemory);
          return true;
        };
        return decoder.decode(dense, 'gzip', { ...ROOMY, reserve }, (body) => {
          inMemory -= held;
          return body.length;
        });
      }),
    );
    expect(decoded).toEqual(Array.from({ length: 8 }, () => 8 * KIB * KIB));
    expect(most).toBeLessThan(2 * 8 * KIB * KIB);
  });

  test('dense bodies of one workspace neither delay nor refuse those of another', async () => {
    const dense = gzipSync(Buffer.alloc(KIB * KIB, ' '));
    const order: number[] = [];
    const decode = (workspaceId: number): Promise<unknown> =>
      decodeBody(dense, 'gzip', { ...ROOMY, workspaceId }).then(() => order.push(workspaceId));
    const flood = Promise.allSettled(Array.from({ length: 60 }, () => decode(1)));
    // Its flood waits: no room is left for another of its own.
    await waitFor(
      () =>
        decode(1).then(
          () => false,
          () => true,
        ),
      {
        withinMs: 20_000,
        what: 'a dense body to be refused',
      },
    );
    const before = order.length;
    await decode(2);
    const floodBefore = order.indexOf(2) - before;
    await flood;
    // Those that were stored while it was counted, and one more; not the 32 that waited.
    expect(floodBefore).toBeLessThan(16);
  });

  describe('while dense bodies are in memory', () => {
    const dense = gzipSync(Buffer.alloc(KIB * KIB, ' '));
    const lengthOf = (body: Buffer): number => body.length;

    /** Dense bodies of so many workspaces, each in memory until `finish`. */
    async function hold(workspaces: number) {
      let finish = (): void => {};
      const gate = new Promise<void>((resolve) => {
        finish = resolve;
      });
      let held = 0;
      const all = Array.from({ length: workspaces }, (_, at) =>
        decoder.decode(dense, 'gzip', { ...ROOMY, workspaceId: 100 + at }, async (body) => {
          held += 1;
          await gate;
          return body.length;
        }),
      );
      await waitFor(() => held === workspaces, { withinMs: 20_000, what: 'bodies in memory' });
      return { finish, all: Promise.all(all) };
    }

    test('one of a further workspace is decoded, up to the limit', async () => {
      const held = await hold(DENSE_AT_ONCE - 1);
      expect(await decoder.decode(dense, 'gzip', ROOMY, lengthOf)).toBe(KIB * KIB);
      held.finish();
      expect(await held.all).toHaveLength(DENSE_AT_ONCE - 1);
    });

    test('one past the limit waits, and is dropped when nobody awaits it any more', async () => {
      const held = await hold(DENSE_AT_ONCE);
      let isUsed = false;
      let leave: (() => void) | null = null;
      const whenUnawaited: DecodingLimits['whenUnawaited'] = (listener) => {
        leave = listener;
      };
      const waiting = decoder.decode(dense, 'gzip', { ...ROOMY, whenUnawaited }, () => {
        isUsed = true;
      });
      const patient = decoder.decode(dense, 'gzip', ROOMY, lengthOf);
      (await waitFor(() => leave, { withinMs: 20_000, what: 'the body to wait' }))();
      await expect(waiting).rejects.toMatchObject({ code: 'answer_timeout' });
      held.finish();
      expect(await patient).toBe(KIB * KIB);
      await held.all;
      expect(isUsed).toBe(false);
    });
  });

  test('more dense bodies than may wait are refused', async () => {
    const dense = gzipSync(Buffer.alloc(KIB * KIB, ' '));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, () => decodeBody(dense, 'gzip', ROOMY)),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    for (const { reason } of refused as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ code: 'overloaded' });
    }
    expect(outcomes.length - refused.length).toBeGreaterThanOrEqual(32);
  });

  test('exactly the limit is within it', async () => {
    const body = await decodeBody(gzipSync(BODY), 'gzip', { ...ROOMY, bytesMax: BODY.length });
    expect(body.length).toBe(BODY.length);
    await expect(
      decodeBody(gzipSync(BODY), 'gzip', { ...ROOMY, bytesMax: BODY.length - 1 }),
    ).rejects.toMatchObject({ code: 'body_too_large' });
  });

  test('no room left: overloaded', async () => {
    let room = 100 * KIB;
    const reserve = (bytes: number): boolean => {
      room -= bytes;
      return room >= 0;
    };
    await expect(decodeBody(gzipSync(BODY), 'gzip', { ...ROOMY, reserve })).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    });
  });
});

type Compress = (body: Buffer, options?: object) => Buffer;
const zstdSync = Reflect.get(zlib, 'zstdCompressSync') as Compress | undefined;

if (zstdSync === undefined) {
  test('zstd, which this Node has not, is refused by name', () => {
    expect(() => checkEncoding('zstd')).toThrow('must be one of identity, gzip, deflate.');
  });
} else {
  describe('zstd, which this Node has', () => {
    test('gives the body back', async () => {
      expect(() => checkEncoding('ZSTD')).not.toThrow();
      expect((await decodeBody(zstdSync(BODY), 'zstd', ROOMY)).equals(BODY)).toBe(true);
    });

    test('plain text is undecodable', async () => {
      await expect(decodeBody(BODY, 'zstd', ROOMY)).rejects.toMatchObject({
        code: 'undecodable_body',
        message: 'The body is not valid zstd.',
      });
    });

    // The decoder of Node 22.23 does not tell that its input ended early, the one of 24.21 does. What the
    // former gives is no JSON, so that a request is undecodable all the same.
    test('cut off, it is undecodable, or a beginning only', async () => {
      const decoded = await decodeBody(zstdSync(BODY).subarray(0, -9), 'zstd', ROOMY).catch(
        (error: unknown) => error,
      );
      if (Buffer.isBuffer(decoded)) expect(decoded.length).toBeLessThan(BODY.length);
      else expect(decoded).toMatchObject({ code: 'undecodable_body' });
    });

    test('a bomb stops at the limit', async () => {
      const bomb = zstdSync(Buffer.alloc(256 * KIB * KIB));
      await expect(
        decodeBody(bomb, 'zstd', { ...ROOMY, bytesMax: 1000 * KIB }),
      ).rejects.toMatchObject({ code: 'body_too_large' });
    });

    test('a window wider than 8 MiB is refused before it is made', async () => {
      const windowLog: unknown = Reflect.get(zlib.constants, 'ZSTD_c_windowLog');
      const wide = zstdSync(Buffer.alloc(64 * KIB * KIB), { params: { [String(windowLog)]: 27 } });
      await expect(decodeBody(wide, 'zstd', ROOMY)).rejects.toMatchObject({
        code: 'undecodable_body',
      });
    });
  });
}
