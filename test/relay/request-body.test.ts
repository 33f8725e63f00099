/** Large bodies of a relay, decoded in a process: the same result, limits, and what ends the process. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';

import { type BodyFacts, decodeBody } from '../../src/relay/decode-body.ts';
import { ProcessDecoder } from '../../src/relay/request-body.ts';
import { encodeProtobuf } from './otlp-protobuf.ts';

const MIB = 1024 * 1024;
const PLAIN: BodyFacts = { signal: 'traces', format: 'protobuf', encoding: null };
const REQUEST = {
  resourceSpans: [
    { scopeSpans: [{ spans: [{ name: 'x'.repeat(MIB), kind: 3, startTimeUnixNano: '5' }] }] },
  ],
};

/** For bodies that leave the process as it was. */
const decoder = new ProcessDecoder();
afterAll(() => decoder.close());

const jsonOf = (body: Buffer | null): unknown => JSON.parse(gunzipSync(body ?? '').toString());

describe('the process', () => {
  test('decodes as the event loop does, several bodies one after the other', async () => {
    const body = encodeProtobuf('traces', REQUEST);
    const there = await Promise.all([
      decoder.decode(body, PLAIN),
      decoder.decode(gzipSync(body), { ...PLAIN, encoding: 'gzip' }),
      decoder.decode(Buffer.from(JSON.stringify(REQUEST)), { ...PLAIN, format: 'json' }),
    ]);
    expect(there.map(jsonOf)).toEqual([REQUEST, REQUEST, REQUEST]);
    const here = await decodeBody(body, PLAIN, 2 * MIB);
    expect(here).toEqual({ kind: 'sent', body: there[0] });
  });

  test('leaves JSON in gzip as it came', async () => {
    const body = gzipSync(JSON.stringify(REQUEST));
    const facts: BodyFacts = { ...PLAIN, format: 'json', encoding: 'gzip' };
    expect(await decoder.decode(body, facts)).toBeNull();
    expect(jsonOf(body)).toEqual(REQUEST);
  });

  test.each<[string, Buffer, Partial<BodyFacts>, string]>([
    ['that is no protobuf', Buffer.alloc(MIB, 0xff), {}, 'undecodable_body'],
    ['that is no JSON', Buffer.alloc(MIB, '['), { format: 'json' }, 'undecodable_body'],
    ['that is not compressed', Buffer.alloc(MIB), { encoding: 'gzip' }, 'undecodable_body'],
    [
      'that inflates past 64 MiB',
      gzipSync(Buffer.alloc(65 * MIB)),
      { encoding: 'gzip' },
      'body_too_large',
    ],
  ])('refuses a body %s, and takes the next one', async (_, body, facts, code) => {
    await expect(decoder.decode(body, { ...PLAIN, ...facts })).rejects.toMatchObject({ code });
    expect(jsonOf(await decoder.decode(encodeProtobuf('traces', REQUEST), PLAIN))).toEqual(REQUEST);
  });

  test('ends over a body that takes too long, which is refused; the next one starts another', async () => {
    const impatient = new ProcessDecoder(0);
    const body = encodeProtobuf('traces', REQUEST);
    await expect(impatient.decode(body, PLAIN)).rejects.toMatchObject({ code: 'body_too_large' });
    await impatient.close();
    expect(jsonOf(await decoder.decode(body, PLAIN))).toEqual(REQUEST);
  });

  test('ends over a body that takes too much memory, which is refused; the next one starts another', async () => {
    const small = new ProcessDecoder(undefined, 64);
    const objects = Buffer.from(`[${'{},'.repeat(15e5)}{}]`);
    await expect(small.decode(objects, { ...PLAIN, format: 'json' })).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('memory'),
    });
    const next = await small.decode(encodeProtobuf('traces', REQUEST), PLAIN);
    expect(jsonOf(next)).toEqual(REQUEST);
    await small.close();
  });
});

test('a body that inflates to more than may be decoded on the event loop is handed on', async () => {
  const body = gzipSync(encodeProtobuf('traces', REQUEST));
  const facts: BodyFacts = { ...PLAIN, encoding: 'gzip' };
  expect(await decodeBody(body, facts, 1000)).toEqual({ kind: 'larger' });
  expect((await decodeBody(body, facts, 2 * MIB)).kind).toBe('sent');
});
