/** Blocks are read back as they were compressed, or not at all; workspaces take turns. */
import { randomBytes } from 'node:crypto';

import { describe, expect, test, vi } from 'vitest';

import {
  BlockCompressor,
  BROTLI,
  COMPRESSIONS_MAX,
  checksumOf,
  readBlock,
  type StoredBlock,
} from '../../../src/db/telemetry/block-codec.ts';

const ID = 'b'.repeat(32);
const TEXT = Buffer.from(`${JSON.stringify({ text: 'a line '.repeat(1000) })}\n`);

async function blockOf(text: Buffer): Promise<StoredBlock> {
  const data = await new BlockCompressor().compress(1, [text]);
  return { id: ID, codec: BROTLI, bytes: text.length, checksum: checksumOf(data), data };
}

test.each([
  ['text', TEXT],
  ['nothing', Buffer.alloc(0)],
  ['one byte', Buffer.from('\n')],
  ['random bytes', randomBytes(300_000)],
])('%s comes back', async (_what, text) => {
  expect(await readBlock(await blockOf(text))).toEqual(text);
});

test('text becomes smaller', async () => {
  expect((await blockOf(TEXT)).data.length).toBeLessThan(TEXT.length / 20);
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
      'it cannot be decompressed',
    ],
    [
      'one byte more',
      (block) => ({ ...block, bytes: block.bytes - 1 }),
      'it cannot be decompressed',
    ],
    ['one byte less', (block) => ({ ...block, bytes: block.bytes + 1 }), 'its length differs'],
    ['its codec', (block) => ({ ...block, codec: 99 }), 'codec 99 is not known'],
  ])('%s', async (_what, damage, reason) => {
    await expect(readBlock(damage(await blockOf(TEXT)))).rejects.toMatchObject({
      name: 'UnreadableBlockError',
      blockId: ID,
      message: `Block ${ID} cannot be read: ${reason}.`,
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
  const joined = vi.spyOn(Buffer, 'concat');
  const parts = [randomBytes(1000), randomBytes(1000)];
  const isOne = ([list]: Parameters<typeof Buffer.concat>): boolean => list === parts;
  let ended = 0;
  try {
    const compress = async (): Promise<void> => {
      await compressor.compress(1, parts);
      const running = joined.mock.calls.filter(isOne).length - ended;
      expect(running).toBeLessThanOrEqual(COMPRESSIONS_MAX + 1);
      ended += 1;
    };
    await Promise.all(Array.from({ length: 20 }, compress));
    expect(joined.mock.calls.filter(isOne)).toHaveLength(ended);
  } finally {
    joined.mockRestore();
  }
});
