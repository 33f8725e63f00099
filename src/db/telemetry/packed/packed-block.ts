/**
 * Packed blocks: lines of OTLP/JSON of whole runs (`src/otlp/lines/packed-lines.ts`) in two parts, each compressed
 * (docs/decisions/0081-packed-runs.md). The narrow part is enough for the tree of a run.
 *
 *   lines ─► narrow text, holes ──────────────────► narrow part
 *        └─► documents ─► literals and repeats ───► documents
 *
 * A block is read as it was packed or not at all: each part has a checksum, and the documents fit only the holes.
 */
import { putRepeatsBack } from '../../../model/packed/document-stream.ts';
import { Holes, joinText } from '../../../model/packed/narrow-text.ts';
import type { SplitText } from '../../../model/packed/text-splitter.ts';
import { checksumOf, readBlock, type StoredBlock, UnreadableBlockError } from '../block-codec.ts';
import { BROTLI, CODECS, type Codecs } from '../codecs.ts';

/** A part of a packed block, as it is stored. */
export type PackedPart = Pick<StoredBlock, 'bytes' | 'checksum' | 'data'>;

/** The columns that are needed to read a packed block. */
export interface PackedBlock {
  readonly codec: number;
  /** of its lines */
  readonly bytes: number;
  readonly narrow: PackedPart;
  readonly documents: PackedPart;
}

/** A packed block without the documents. */
export type NarrowBlock = Pick<StoredBlock, 'id'> & Omit<PackedBlock, 'documents'>;
export type StoredPackedBlock = Pick<StoredBlock, 'id'> & PackedBlock;

/** The lines of a packed block with an empty string for each document. */
export interface NarrowText {
  readonly text: Buffer;
  readonly holes: Holes;
}

/** Bytes of a length at the beginning of a part. */
const LENGTH_BYTES = 4;

/**
 * Compresses lines. Runs in the thread pool, both parts at once.
 *
 * @param codec the codec of new blocks
 */
export async function compressPacked(
  { bytes, narrow, holes, literals, repeats }: SplitText,
  codec = BROTLI,
): Promise<PackedBlock> {
  const [narrowPart, documents] = await Promise.all([
    compressPart(codec, narrow, holes),
    compressPart(codec, literals, repeats),
  ]);
  return { codec, bytes, narrow: narrowPart, documents };
}

async function compressPart(number: number, first: Buffer, second: Buffer): Promise<PackedPart> {
  const codec = CODECS.get(number);
  if (codec === undefined) throw new RangeError(`codec ${number} is not known`);
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32LE(first.length);
  const part = Buffer.concat([length, first, second]);
  const data = await codec.pack(part);
  return { bytes: part.length, checksum: checksumOf(data), data };
}

/**
 * Reads the narrow part.
 *
 * @param codecs those of this process
 * @throws {UnreadableBlockError} when it is damaged
 * @throws {UnsupportedCodecError}
 */
export async function readNarrow(block: NarrowBlock, codecs: Codecs = CODECS): Promise<NarrowText> {
  const [text, holes] = await readPart(block, block.narrow, codecs);
  return ofBlock(block.id, () => ({ text, holes: new Holes(text, holes) }));
}

/**
 * Reads the lines.
 *
 * @param codecs those of this process
 * @throws {UnreadableBlockError} when the block is damaged
 * @throws {UnsupportedCodecError}
 */
export async function readPacked(
  block: StoredPackedBlock,
  codecs: Codecs = CODECS,
): Promise<Buffer> {
  const [{ text, holes }, [literals, repeats]] = await Promise.all([
    readNarrow(block, codecs),
    readPart(block, block.documents, codecs),
  ]);
  return ofBlock(block.id, () => {
    if (text.length + holes.bytes !== block.bytes) throw new RangeError('its length differs');
    return joinText(text, holes, putRepeatsBack({ literals, repeats }, holes.bytes));
  });
}

async function readPart(
  { id, codec }: NarrowBlock,
  part: PackedPart,
  codecs: Codecs,
): Promise<readonly [first: Buffer, second: Buffer]> {
  const bytes = await readBlock({ id, codec, ...part }, codecs);
  const end = LENGTH_BYTES + (bytes.length < LENGTH_BYTES ? 0 : bytes.readUInt32LE());
  if (end > bytes.length) throw new UnreadableBlockError(id, 'a part of it is damaged');
  return [bytes.subarray(LENGTH_BYTES, end), bytes.subarray(end)];
}

/** Runs a function whose RangeError says why the block is damaged. */
function ofBlock<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RangeError) throw new UnreadableBlockError(id, cause.message, { cause });
    throw cause;
  }
}
