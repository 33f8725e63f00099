/**
 * Joins the records of whole runs to lines of OTLP/JSON for packed blocks
 * (docs/decisions/0009-hot-and-packed-blocks.md). Small runs share a block; a large run has several.
 *
 *   block:  lines of run A \n … lines of run B \n …      records: numbered from 0, over all lines
 *
 * Records keep their order and their bytes. Records in a row with equal heads (request, resource, scope)
 * share them in a line, whichever request they came from. Each run begins a line.
 */
import { LINE_BYTES_MAX } from '../otlp/lines/lines.ts';
import type { Frame } from '../otlp/lines/record-finder.ts';
import { PIECE_BYTES, type Pieces } from '../otlp/pieces.ts';
import { type SplitLines, TextSplitter } from './text-splitter.ts';

/** Maximum bytes of a packed block's lines, unless it is a single record. */
export const PACKED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Bytes of a block's parts before compression, without what repeats: no run begins behind the first limit, and a run
 * continues in another block behind the second. A reader of one step decompresses them all, in 3 to 4 ms.
 */
export const PARTS_BYTES_MAX = 768 * 1024;
export const PARTS_OF_RUN_BYTES_MAX = 1024 * 1024;

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

export interface PackedLines {
  readonly text: SplitLines;
  readonly records: number;
  readonly runs: readonly PackedRun[];
}

const LINE_FEED = 0x0a;
const COMMA = 0x2c;

/** Packs runs. @param runs the records of each run in the order to keep, all of one signal */
export function* packLines(
  runs: readonly (readonly RecordToPack[])[],
): Pieces<readonly PackedLines[]> {
  const blocks: PackedLines[] = [];
  const splitter = spare ?? new TextSplitter();
  spare = null;
  let left = runs.reduce((sum, records) => sum + bytesOf(records), 0);
  let block = new BlockBuilder(splitter, left);
  let sincePause = 0;
  const end = (): void => {
    if (block.records === 0) return;
    blocks.push(block.end());
    block = new BlockBuilder(splitter, left);
  };
  for (const [run, records] of runs.entries()) {
    // A run that fits a block is not parted.
    const bytes = bytesOf(records);
    const isLong = bytes <= PACKED_BYTES_MAX && block.bytes + bytes > PACKED_BYTES_MAX;
    if (isLong || block.partsBytes > PARTS_BYTES_MAX) end();
    let isFirst = true;
    for (const [index, record] of records.entries()) {
      const length = record.bytes.length;
      const isFull =
        block.bytes + length > PACKED_BYTES_MAX || block.partsBytes > PARTS_OF_RUN_BYTES_MAX;
      if (isFull && block.records > 0) {
        end();
        isFirst = true;
      }
      if (isFirst) block.beginRun(run, index);
      isFirst = false;
      block.add(record);
      left -= length;
      sincePause += length;
      if (sincePause < PIECE_BYTES) continue;
      sincePause = 0;
      yield;
    }
  }
  end();
  spare = splitter;
  return blocks;
}

const bytesOf = (records: readonly RecordToPack[]): number =>
  records.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** A splitter that no block uses. */
let spare: TextSplitter | null = null;

class BlockBuilder {
  readonly #text: TextSplitter;
  readonly #runs: PackedRun[] = [];
  #lineStart = 0;
  /** the open objects, the outermost first */
  #open: readonly Frame[] = [];
  #openBytes = 0;
  records = 0;

  constructor(text: TextSplitter, bytes: number) {
    this.#text = text;
    text.begin(Math.min(bytes, PACKED_BYTES_MAX));
  }

  get bytes(): number {
    return this.#text.bytes;
  }

  get partsBytes(): number {
    return this.#text.partsBytes;
  }

  /** @param from index of the run's next record */
  beginRun(run: number, from: number): void {
    this.#endLine();
    this.#runs.push({ run, from, start: this.records, end: this.records });
  }

  add({ bytes, frame }: RecordToPack): void {
    const text = this.#text;
    const line = text.bytes - this.#lineStart;
    if (line + bytes.length > LINE_BYTES_MAX && line >= 2 * this.#openBytes) this.#endLine();
    if (this.#open.at(-1) === frame) text.putByte(COMMA);
    else this.#enter(frame);
    text.put(bytes);
    this.records += 1;
    const run = this.#runs.at(-1);
    if (run !== undefined) run.end = this.records;
  }

  end(): PackedLines {
    this.#endLine();
    return { text: this.#text.end(), records: this.records, runs: this.#runs };
  }

  #endLine(): void {
    if (this.#text.bytes === this.#lineStart) return;
    this.#close(0);
    this.#text.putByte(LINE_FEED);
    this.#lineStart = this.#text.bytes;
  }

  /** Closes objects that differ from those around a record, and opens those. */
  #enter(frame: Frame): void {
    const path = pathOf(frame);
    let common = 0;
    while (isEqual(path[common], this.#open[common])) common += 1;
    // Records of another request.
    if (common === 0) this.#endLine();
    this.#close(common);
    if (common > 0) this.#text.putByte(COMMA);
    for (const { head } of path.slice(common)) this.#text.put(head);
    this.#open = path;
    this.#openBytes = path.reduce((sum, { head }) => sum + head.length, 0);
  }

  #close(depth: number): void {
    for (const { tail } of this.#open.slice(depth).reverse()) this.#text.put(Buffer.from(tail));
    this.#open = this.#open.slice(0, depth);
  }
}

function pathOf(frame: Frame): Frame[] {
  const path: Frame[] = [];
  for (let at: Frame | null = frame; at !== null; at = at.parent) path.unshift(at);
  return path;
}

function isEqual(one: Frame | undefined, other: Frame | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one === other || (one.tail === other.tail && one.head.equals(other.head));
}
