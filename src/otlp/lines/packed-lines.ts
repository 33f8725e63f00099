/**
 * Joins the records of whole runs to lines of OTLP/JSON for packed blocks
 * (docs/decisions/0081-packed-runs.md). Small runs share a block; a large run has several.
 *
 *   block:  lines of run A \n … lines of run B \n …      records: numbered from 0, over all lines
 *
 * Records keep their order and their bytes. Records in a row with equal heads (request, resource, scope)
 * share them in a line, whichever request they came from. Each run begins a line.
 */
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { LINE_BYTES_MAX } from './lines.ts';
import type { Frame } from './record-finder.ts';

/** Maximum bytes of a packed block's lines, unless it is a single record. */
export const PACKED_BYTES_MAX = 4 * 1024 * 1024;

/** A record to pack, without line feeds. */
export interface RecordToPack {
  readonly bytes: Buffer;
  /** the objects that enclose it, without line feeds */
  readonly frame: Frame;
}

/** The records of a run in a packed block, which follow each other. */
export interface PackedRun {
  /** index of the run in the given list */
  readonly run: number;
  /** index in the run's list of the first of these records */
  readonly from: number;
  /** number in the block of the first of these records */
  readonly start: number;
  /** number after the last one */
  end: number;
}

/** The lines of a packed block. */
export interface PackedLines {
  /** lines, each with a line feed at its end */
  readonly text: Buffer;
  readonly records: number;
  readonly runs: readonly PackedRun[];
}

const LINE_FEED = 0x0a;
const COMMA = 0x2c;

/**
 * Packs runs.
 *
 * @param runs the records of each run in the order to keep, all of one signal
 */
export function* packLines(
  runs: readonly (readonly RecordToPack[])[],
): Pieces<readonly PackedLines[]> {
  const blocks: PackedLines[] = [];
  const builder = new LinesBuilder();
  let sincePause = 0;
  let packed: PackedRun[] = [];
  const end = (): void => {
    if (builder.records === 0) return;
    const { records } = builder;
    blocks.push({ text: builder.end(), records, runs: packed });
    packed = [];
  };
  for (const [run, records] of runs.entries()) {
    // A run that fits a block is not parted.
    const bytes = records.reduce((sum, record) => sum + record.bytes.length, 0);
    if (bytes <= PACKED_BYTES_MAX && builder.length + bytes > PACKED_BYTES_MAX) end();
    builder.endLine();
    let own: PackedRun | null = null;
    for (const [index, record] of records.entries()) {
      if (builder.length + record.bytes.length > PACKED_BYTES_MAX) {
        end();
        own = null;
      }
      if (own === null) {
        own = { run, from: index, start: builder.records, end: builder.records };
        packed.push(own);
      }
      builder.add(record);
      own.end = builder.records;
      sincePause += record.bytes.length;
      if (sincePause < PIECE_BYTES) continue;
      sincePause = 0;
      yield;
    }
  }
  end();
  return blocks;
}

/** Builds the lines of one block after another. */
class LinesBuilder {
  #bytes = Buffer.allocUnsafe(PACKED_BYTES_MAX + LINE_BYTES_MAX);
  #lineStart = 0;
  /** the open objects, the outermost first */
  #open: readonly Frame[] = [];
  #openBytes = 0;
  length = 0;
  records = 0;

  add({ bytes, frame }: RecordToPack): void {
    const isFull = this.length + bytes.length - this.#lineStart > LINE_BYTES_MAX;
    if (isFull && this.length - this.#lineStart >= 2 * this.#openBytes) this.endLine();
    if (this.#open.at(-1) === frame) this.#putByte(COMMA);
    else this.#enter(frame);
    this.#put(bytes);
    this.records += 1;
  }

  endLine(): void {
    if (this.length === this.#lineStart) return;
    this.#close(0);
    this.#putByte(LINE_FEED);
    this.#lineStart = this.length;
  }

  end(): Buffer {
    this.endLine();
    const text = Buffer.from(this.#bytes.subarray(0, this.length));
    this.length = 0;
    this.records = 0;
    this.#lineStart = 0;
    return text;
  }

  /** Closes objects that differ from those around a record, and opens those. */
  #enter(frame: Frame): void {
    const path = pathOf(frame);
    let common = 0;
    while (isEqual(path[common], this.#open[common])) common += 1;
    // Records of another request.
    if (common === 0) this.endLine();
    this.#close(common);
    if (common > 0) this.#putByte(COMMA);
    for (const { head } of path.slice(common)) this.#put(head);
    this.#open = path;
    this.#openBytes = path.reduce((sum, { head }) => sum + head.length, 0);
  }

  /** Closes the objects from a depth on, the innermost first. */
  #close(depth: number): void {
    for (const { tail } of this.#open.slice(depth).reverse()) this.#put(Buffer.from(tail));
    this.#open = this.#open.slice(0, depth);
  }

  #putByte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.length] = byte;
    this.length += 1;
  }

  #put(source: Buffer): void {
    this.#reserve(source.length);
    this.length += source.copy(this.#bytes, this.length);
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#bytes.length) return;
    const longer = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(longer, 0, 0, this.length);
    this.#bytes = longer;
  }
}

/** Returns a frame and its enclosing frames, the outermost first. */
function pathOf(frame: Frame): Frame[] {
  const path: Frame[] = [];
  for (let at: Frame | null = frame; at !== null; at = at.parent) path.unshift(at);
  return path;
}

function isEqual(one: Frame | undefined, other: Frame | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one === other || (one.tail === other.tail && one.head.equals(other.head));
}
