/**
 * Packed blocks: lines of OTLP/JSON of whole runs (`src/reads/packed-lines.ts`) in two parts, each compressed
 * (docs/decisions/0009-hot-and-packed-blocks.md). The narrow part is enough for the tree of a run.
 *
 *   lines ─► narrow text, holes ───────────────► narrow part
 *        ├─► attributes, holes ────────────────► documents
 *        └─► documents ─► literals, repeats ──►
 *
 * A block is read as it was packed or not at all: each part has a checksum, and the documents fit only the holes.
 */
import { putRepeatsBack } from '../../../model/packed/document-stream.ts';
import { Holes, joinText, type SplitText } from '../../../model/packed/narrow-text.ts';
import { checksumOf, readBlock, type StoredBlock, UnreadableBlockError } from '../block-codec.ts';
import { BROTLI, CODECS } from '../codecs.ts';

export type PackedPart = Pick<StoredBlock, 'bytes' | 'checksum' | 'data'>;

export interface PackedBlock {
  readonly codec: number;
  readonly bytes: number;
  readonly narrow: PackedPart;
  readonly documents: PackedPart;
}

export type NarrowBlock = Pick<StoredBlock, 'id'> & Omit<PackedBlock, 'documents'>;
export type StoredPackedBlock = Pick<StoredBlock, 'id'> & PackedBlock;

/** The lines of a packed block with empty lists of attributes and empty bodies. */
export interface NarrowText {
  readonly text: Buffer;
  readonly holes: Holes;
}

export interface PackedText extends NarrowText {
  /**
   * Returns the lines.
   *
   * @param open ranges of the narrow text that have no attributes and bodies in the lines: start and end of each
   * @throws {UnreadableBlockError} when the parts do not fit each other
   */
  readonly widen: (open?: readonly number[]) => Buffer;
}

/** Memory for the documents of a usual block while they are joined: new memory costs page faults. */
const DOCUMENTS_BYTES = 4 * 1024 * 1024;
let documentsMemory: Buffer | null = null;

/** Bytes of the length of a piece, at the beginning of a part. */
const LENGTH_BYTES = 4;

/** Compresses lines. Runs in the thread pool, both parts at once. */
export async function compressPacked(
  { bytes, narrow, attributes, literals, repeats }: SplitText,
  codec = BROTLI,
): Promise<PackedBlock> {
  const [narrowPart, documents] = await Promise.all([
    compressPart(codec, [narrow.text, narrow.holes]),
    compressPart(codec, [attributes.text, attributes.holes, literals, repeats]),
  ]);
  return { codec, bytes, narrow: narrowPart, documents };
}

async function compressPart(number: number, pieces: readonly Buffer[]): Promise<PackedPart> {
  const codec = CODECS.get(number);
  if (codec === undefined) throw new RangeError(`codec ${number} is not known`);
  const lengths = Buffer.allocUnsafe(LENGTH_BYTES * pieces.length);
  for (const [index, { length }] of pieces.entries()) {
    lengths.writeUInt32LE(length, LENGTH_BYTES * index);
  }
  const part = Buffer.concat([lengths, ...pieces]);
  const data = await codec.pack(part);
  return { bytes: part.length, checksum: checksumOf(data), data };
}

/** Reads the narrow part. @throws {UnreadableBlockError} when it is damaged */
export async function readNarrow(block: NarrowBlock): Promise<NarrowText> {
  const [text, holes] = await readPart<Pieces>(block, block.narrow, 2);
  return ofBlock(block.id, () => ({ text, holes: new Holes({ text, holes }) }));
}

/** Reads all parts. @throws {UnreadableBlockError} when the block is damaged */
export async function readPacked(block: StoredPackedBlock): Promise<PackedText> {
  const { id, bytes } = block;
  const [{ text, holes }, [own, ownHoles, literals, repeats]] = await Promise.all([
    readNarrow(block),
    readPart<FourPieces>(block, block.documents, 4),
  ]);
  const attributes = { text: own, holes: ownHoles };
  const widen = (open?: readonly number[]): Buffer =>
    ofBlock(id, () => {
      documentsMemory ??= Buffer.allocUnsafeSlow(DOCUMENTS_BYTES);
      const left = bytes - text.length - own.length;
      const documents = putRepeatsBack({ literals, repeats }, left, documentsMemory);
      return joinText({ bytes, narrow: text, holes, attributes, documents }, open);
    });
  return { text, holes, widen };
}

type Pieces = readonly [Buffer, Buffer];
type FourPieces = readonly [...Pieces, ...Pieces];

async function readPart<P extends Pieces | FourPieces>(
  { id, codec }: NarrowBlock,
  part: PackedPart,
  count: P['length'],
): Promise<P> {
  const bytes = await readBlock({ id, codec, ...part });
  const pieces: Buffer[] = [];
  let at = LENGTH_BYTES * count;
  for (let index = 0; index < count && at <= bytes.length; index += 1) {
    const end = at + bytes.readUInt32LE(LENGTH_BYTES * index);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  if (at !== bytes.length) throw new UnreadableBlockError(id, 'a part of it is damaged');
  return pieces as readonly Buffer[] as P;
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
