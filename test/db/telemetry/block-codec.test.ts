/**
 * Blocks are read back as they were compressed, with each codec that this Node.js has, or not at all;
 * workspaces take turns.
 */
import { randomBytes } from 'node:crypto';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import {
  BLOCK_BYTES_MAX,
  BlockCompressor,
  COMPRESSIONS_MAX,
  checksumOf,
  readBlock,
  type StoredBlock,
} from '../../../src/db/telemetry/block-codec.ts';
import { BROTLI, CODECS, USE_ZSTD_NODE, ZSTD } from '../../../src/db/telemetry/codecs.ts';

const ID = 'b'.repeat(32);
const TEXT = Buffer.from(`${JSON.stringify({ text: 'a line '.repeat(1000) })}\n`);

async function blockOf(text: Buffer, codec = BROTLI): Promise<StoredBlock> {
  const compressed = await new BlockCompressor(codec).compress(1, [text]);
  return { id: ID, bytes: text.length, checksum: checksumOf(compressed.data), ...compressed };
}

test('this Node.js has zstd from 22.15 on', () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isThere = (major === 22 && minor >= 15) || (major === 23 && minor >= 8) || major > 23;
  expect([...CODECS.keys()]).toEqual(isThere ? [BROTLI, ZSTD] : [BROTLI]);
});

describe.each([...CODECS.keys()])('codec %s', (codec) => {
  test.each([
    ['text', TEXT],
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('\n')],
    ['random bytes', randomBytes(300_000)],
  ])('%s comes back', async (_what, text) => {
    const block = await blockOf(text, codec);
    expect(block.codec).toBe(codec);
    expect(await readBlock(block)).toEqual(text);
  });

  test('text becomes smaller', async () => {
    expect((await blockOf(TEXT, codec)).data.length).toBeLessThan(TEXT.length / 20);
  });

  describe('a block that is not as it was stored cannot be read', () => {
    test.each<[string, (block: StoredBlock) => StoredBlock, string]>([
      ['a bit', (block) => ({ ...block, data: flipped(block.data, 5) }), 'its checksum differs'],
      [
        'a bit, and its checksum with it',
        (block) => withChecksum({ ...block, data: flipped(block.data, 0) }),
        'it cannot be decompressed',
      ],
      [
        'its end',
        (block) => withChecksum({ ...block, data: block.data.subarray(0, -1) }),
        // Node.js 22 returns what the beginning of a zstd frame holds, 24 an error.
        codec === ZSTD
          ? '(its length differs|it cannot be decompressed)'
          : 'it cannot be decompressed',
      ],
      [
        'one byte more',
        (block) => ({ ...block, bytes: block.bytes - 1 }),
        'it cannot be decompressed',
      ],
      ['one byte less', (block) => ({ ...block, bytes: block.bytes + 1 }), 'its length differs'],
      ['its codec', (block) => ({ ...block, codec: 99 }), 'codec 99 is not known'],
    ])('%s', async (_what, damage, reason) => {
      await expect(readBlock(damage(await blockOf(TEXT, codec)))).rejects.toMatchObject({
        name: 'UnreadableBlockError',
        blockId: ID,
        message: expect.stringMatching(`^Block ${ID} cannot be read: ${reason}\\.$`),
      });
    });
  });
});

function flipped(data: Buffer, at: number): Buffer {
  const changed = Buffer.from(data);
  changed.writeUInt8(changed.readUInt8(at) ^ 0x40, at);
  return changed;
}

const withChecksum = (block: StoredBlock): StoredBlock => ({
  ...block,
  checksum: checksumOf(block.data),
});

test('a codec that this process does not have is named, and the block is not called damaged', async () => {
  const block = { ...(await blockOf(TEXT)), codec: ZSTD };
  const codecs = vi.spyOn(CODECS, 'get').mockReturnValue(undefined);
  onTestFinished(() => codecs.mockRestore());
  await expect(readBlock(block)).rejects.toMatchObject({
    name: 'UnsupportedCodecError',
    message:
      `Block ${ID} is compressed with zstd, which Node.js ${process.versions.node} cannot read: ` +
      `${USE_ZSTD_NODE}.`,
  });
});

test('a compressor uses another codec from the next block on', async () => {
  const compressor = new BlockCompressor();
  expect((await compressor.compress(1, [TEXT])).codec).toBe(BROTLI);
  const last = Math.max(...CODECS.keys());
  compressor.use(last);
  expect((await compressor.compress(1, [TEXT])).codec).toBe(last);
  expect(() => compressor.use(99)).toThrow(RangeError);
});

test('a workspace waits for one block of another, however many that one has', async () => {
  const compressor = new BlockCompressor();
  const ended: string[] = [];
  const compress = (workspaceId: number, name: string, bytes: number): Promise<void> =>
    compressor.compress(workspaceId, [randomBytes(bytes)]).then(() => void ended.push(name));
  const all = [
    ...Array.from({ length: 20 }, (_, at) => compress(1, `large ${at}`, 256 * 1024)),
    compress(2, 'small', 1000),
  ];
  await Promise.all(all);
  expect(ended.indexOf('small')).toBeLessThanOrEqual(2 * COMPRESSIONS_MAX);
});

test('a text is joined when its turn comes, not while it waits', async () => {
  const compressor = new BlockCompressor();
  const part = randomBytes(1000);
  const joined = vi.spyOn(part, 'copy');
  let ended = 0;
  const compress = async (): Promise<void> => {
    await compressor.compress(1, [part]);
    expect(joined.mock.calls.length - ended).toBeLessThanOrEqual(COMPRESSIONS_MAX + 1);
    ended += 1;
  };
  await Promise.all(Array.from({ length: 20 }, compress));
  expect(joined).toHaveBeenCalledTimes(ended);
});

test.each([...CODECS.keys()])(
  'codec %s: a block keeps its bytes until it is released',
  async (codec) => {
    const compressor = new BlockCompressor(codec);
    // Compressed to less than a quarter, and to more.
    const textOf = (seed: number): Buffer => {
      const random = randomBytes((seed % 2 === 0 ? 1 : 5) * 50_000);
      return Buffer.concat([random, Buffer.alloc(BLOCK_BYTES_MAX - random.length, seed)]);
    };
    const compress = async (seed: number) => {
      const text = textOf(seed);
      const compressed = await compressor.compress(1, [text]);
      const checksum = checksumOf(compressed.data);
      return { text, compressed, block: { id: ID, bytes: text.length, checksum, ...compressed } };
    };
    const first = await Promise.all([1, 2, 3, 4, 5, 6].map(compress));
    const released = first.filter((_, at) => at % 3 === 0).map(({ compressed }) => compressed);
    // A second call does nothing: no two blocks get the same memory.
    for (let times = 0; times < 2; times += 1) compressor.release(released);
    const second = await Promise.all([7, 8, 9, 10, 11, 12].map(compress));
    const kept = [...first.filter((_, at) => at % 3 !== 0), ...second];
    const read = await Promise.all(kept.map(({ block }) => readBlock(block)));
    expect(read.map((text, at) => kept[at]?.text.equals(text))).toEqual(kept.map(() => true));
    const memories = second.map(({ compressed }) => compressed.memory);
    expect(new Set(memories).size).toBe(second.length);
    expect(released.map(({ memory }) => memories.includes(memory))).toEqual([true, true]);
    const small = second.filter(
      ({ compressed: { data, memory } }) => data.buffer === memory?.buffer,
    );
    expect(small).toHaveLength(3);
  },
);

test('blocks that are compressed at once, in memory that is used again, have their own bytes', async () => {
  const compressor = new BlockCompressor();
  const texts = [1, 5000, BLOCK_BYTES_MAX, BLOCK_BYTES_MAX + 1, 100, BLOCK_BYTES_MAX - 1, 3].map(
    (bytes) => Buffer.concat([randomBytes(Math.ceil(bytes / 2)), Buffer.alloc(bytes >> 1, 'x')]),
  );
  const all = [...texts, ...texts.toReversed()];
  const blocks = await Promise.all(
    all.map((text, at) =>
      compressor.compress(at % 2, [text.subarray(0, 1), text.subarray(1)]).then((compressed) => ({
        ...compressed,
        id: ID,
        bytes: text.length,
        checksum: checksumOf(compressed.data),
      })),
    ),
  );
  const read = await Promise.all(blocks.map((block) => readBlock(block)));
  expect(read.map((text, at) => all[at]?.equals(text))).toEqual(all.map(() => true));
});
