/** Packed blocks give back the text, byte for byte, or say that they are damaged. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checksumOf, UnreadableBlockError } from '../../../../src/db/telemetry/block-codec.ts';
import { BROTLI, CODECS } from '../../../../src/db/telemetry/codecs.ts';
import {
  compressPacked,
  readNarrow,
  readPacked,
  type StoredPackedBlock,
} from '../../../../src/db/telemetry/packed/packed-block.ts';
import { jsonLines, split } from '../../../model/packed/json-lines.ts';

const ID = '018f0000000070008000000000000000';

/** Reads all parts of a block and joins them. */
const linesOf = async (block: StoredPackedBlock): Promise<Buffer> =>
  (await readPacked(block)).widen();

/** Splits and compresses lines. */
const packed = async (text: Buffer) => ({ id: ID, ...(await compressPacked(split(text))) });

test('a packed block gives back any text', async () => {
  await fc.assert(
    fc.asyncProperty(jsonLines, async (text) => {
      const block = await packed(text);
      expect(await linesOf(block)).toEqual(text);
      const { text: narrow, holes } = await readNarrow(block);
      expect(narrow.length + holes.bytes).toBe(text.length);
      // The first line without attributes, the others with them; then all without.
      const { widen } = await readPacked(block);
      const end = narrow.indexOf('\n') + 1;
      const rest = text.subarray(end + holes.bytesIn(0, end));
      expect(widen([0, end])).toEqual(Buffer.concat([narrow.subarray(0, end), rest]));
      expect(widen([0, end, end, narrow.length])).toEqual(narrow);
    }),
  );
});

describe('a damaged block', () => {
  const text = Buffer.from(
    Array.from(
      { length: 20 },
      (_, index) => `{"attributes":["${'question '.repeat(10 + index)}"],"b":${index}}\n`,
    ).join(''),
  );

  test('any changed byte is noticed', async () => {
    const block = await packed(text);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('narrow', 'documents'),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (name, at, change) => {
          const data = Buffer.from(block[name].data);
          const index = at % data.length;
          data[index] = (data[index] as number) ^ change;
          const damaged = { ...block, id: ID, [name]: { ...block[name], data } };
          await expect(linesOf(damaged)).rejects.toThrow(UnreadableBlockError);
        },
      ),
    );
  });

  test('whatever the parts hold, the answer has the right length or an error is thrown', async () => {
    const { pack } = CODECS.get(BROTLI) ?? {};
    if (pack === undefined) throw new Error('no brotli');
    const partOf = async (bytes: Uint8Array) => {
      const data = await pack(Buffer.from(bytes));
      return { bytes: bytes.length, checksum: checksumOf(data), data };
    };
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array(),
        fc.uint8Array(),
        fc.nat({ max: 300 }),
        async (narrow, documents, bytes) => {
          const block = {
            id: ID,
            codec: BROTLI,
            bytes,
            narrow: await partOf(narrow),
            documents: await partOf(documents),
          };
          const read = await linesOf(block).catch((error: unknown) => error);
          if (read instanceof Buffer) expect(read).toHaveLength(bytes);
          else expect(read).toBeInstanceOf(UnreadableBlockError);
        },
      ),
    );
  });

  test('parts of two blocks do not fit', async () => {
    const [one, other] = await Promise.all([
      packed(text),
      packed(text.subarray(text.indexOf('\n') + 1)),
    ]);
    const mixed = { ...one, id: ID, documents: other.documents };
    await expect(linesOf(mixed)).rejects.toThrow(UnreadableBlockError);
  });

  test('a text with another length is an error', async () => {
    const block = await packed(text);
    await expect(linesOf({ ...block, id: ID, bytes: block.bytes + 1 })).rejects.toThrow(
      UnreadableBlockError,
    );
  });
});
