/** Frames of zstd are found wherever the stream is cut. */
import { expect, test } from 'vitest';

import { zstdFrames } from '../../../src/cli/replay/zstd-frames.ts';

const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');
/** Written by the program `zstd`: one segment without a checksum; of a pipe, with one; repeated bytes, with one. */
const SINGLE = fromBase64('KLUv/SAVqQAAeyJyZXNvdXJjZVNwYW5zIjpbXX0K');
const PIPED = fromBase64('KLUv/QRYqQAAeyJyZXNvdXJjZVNwYW5zIjpbXX0KqAAxqQ==');
const REPEATED = fromBase64('KLUv/aTgkwQAVAAAEGFhAQD7/znAAgIAEGEDnwRhjV8Epg==');
const FRAMES = [PIPED, SINGLE, REPEATED, SINGLE];
const SKIPPED = Buffer.concat([fromBase64('XypNGAUAAAA='), Buffer.from('hello')]);

async function* cutEvery(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function split(chunks: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const frames: Buffer[] = [];
  for await (const frame of zstdFrames(chunks)) {
    const parts: Buffer[] = [];
    for await (const part of frame) parts.push(part);
    frames.push(Buffer.concat(parts));
  }
  return frames;
}

test('frames come whole, whatever the lengths of the parts that are read', async () => {
  const all = Buffer.concat([SKIPPED, ...FRAMES, SKIPPED]);
  for (let length = 1; length <= all.length; length += 1) {
    expect(await split(cutEvery(all, length))).toEqual(FRAMES);
  }
  expect(await split(cutEvery(Buffer.alloc(0), 1))).toEqual([]);
});

test('a stream that ends within a frame is an error', async () => {
  for (const frame of [...FRAMES, SKIPPED]) {
    for (let length = 1; length < frame.length; length += 1) {
      const cut = Buffer.concat([SINGLE, frame.subarray(0, length)]);
      await expect(split(cutEvery(cut, 7))).rejects.toThrow('unexpected end of file');
    }
  }
});

test('something else after a frame is an error', async () => {
  const chunks = cutEvery(Buffer.concat([SINGLE, Buffer.from('something else')]), 10);
  await expect(split(chunks)).rejects.toThrow('not zstd from here on');
});
