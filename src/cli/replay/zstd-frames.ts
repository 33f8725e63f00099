/**
 * Splits a stream of zstd into its frames (RFC 8878). The decompressor of Node.js ends, without an error, after
 * the first frame; `sluice export` and other programs write several, one after the other.
 *
 *   frame:  magic, descriptor, window, dictionary, size │ blocks, each with its length │ checksum
 */

const MAGIC = 0xfd2fb528;
/** Frames with any content, which is skipped. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;
const DICTIONARY_BYTES: readonly number[] = [0, 1, 2, 4];
const SIZE_BYTES: readonly number[] = [0, 2, 4, 8];
/** The type of a block with one byte that is repeated. */
const REPEATED = 1;

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async hasMore(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next();
      if (next.done === true) return false;
      this.#rest = next.value;
    }
    return true;
  }

  /** Yields the next bytes, in parts. @throws when the stream ends before */
  async *take(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      if (!(await this.hasMore())) throw new Error('unexpected end of file');
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async exactly(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.take(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }
}

async function* frameOf(reader: ByteReader, magic: Buffer): AsyncGenerator<Buffer> {
  const descriptor = await reader.exactly(1);
  const [flags = 0] = descriptor;
  const isSingle = (flags & 0x20) !== 0;
  const sizeBytes = SIZE_BYTES[flags >> 6] || Number(isSingle);
  const others = Number(!isSingle) + (DICTIONARY_BYTES[flags & 3] ?? 0) + sizeBytes;
  yield Buffer.concat([magic, descriptor, await reader.exactly(others)]);
  for (let isLast = false; !isLast; ) {
    const head = await reader.exactly(3);
    yield head;
    const block = head.readUIntLE(0, 3);
    isLast = (block & 1) !== 0;
    yield* reader.take(((block >> 1) & 3) === REPEATED ? 1 : block >> 3);
  }
  if ((flags & 0x04) !== 0) yield await reader.exactly(4);
}

/** Yields the frames of a stream. The parts of each must be read before the next frame. */
export async function* zstdFrames(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<AsyncGenerator<Buffer>> {
  const reader = new ByteReader(chunks);
  while (await reader.hasMore()) {
    const magic = await reader.exactly(4);
    const number = magic.readUInt32LE();
    if ((number & SKIPPABLE_MASK) >>> 0 === SKIPPABLE_MAGIC) {
      const length = await reader.exactly(4);
      for await (const _ of reader.take(length.readUInt32LE()));
    } else if (number === MAGIC) yield frameOf(reader, magic);
    else throw new Error('it is not zstd from here on');
  }
}
