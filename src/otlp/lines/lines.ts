/**
 * Cuts a body into lines of OTLP/JSON, the stored form of its records (and the form of OpenTelemetry's
 * file exporter): each line is one valid export request. The records stay byte for byte as they were
 * sent, except that line feeds between JSON tokens become spaces.
 *
 *   {"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[RECORD,RECORD]}]}]}
 *   └──── head of the body, resource and scope ────────────────────┘               └tail┘
 *
 * A short body without rejected records is one line, unchanged. Any other body is taken apart: rejected
 * records are left out, and a long body is cut between records; each line then has the heads that its
 * records need. A head has all members of its object except the list, including unknown members.
 */
import { isUtf8 } from 'node:buffer';

import { SluiceError } from '../../errors.ts';
import type { Signal } from '../../model/telemetry.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { type FoundRecord, type Frame, RecordFinder } from './record-finder.ts';
import type { AcceptedRecords } from './record-set.ts';

/** Maximum bytes of a line, unless a record or its heads are larger. */
export const LINE_BYTES_MAX = 512 * 1024;

/**
 * Maximum bytes of the heads of a record (the members of its request, resource and scope). A reader of the
 * record parses them in one turn of the event loop.
 */
export const HEADS_BYTES_MAX = 4 * 1024 * 1024;

/** Average bytes of a line's parts; shorter ones are joined, because each takes memory. */
const PART_BYTES_MIN = 4 * 1024;

/** A line of OTLP/JSON, without a line feed. */
export interface Line {
  /** parts of the body, and of the heads and tails that a cut line needs */
  readonly parts: readonly Buffer[];
  readonly bytes: number;
  /** spans, log records or data points */
  readonly records: number;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = 0x0a;
const SPACE = 0x20;
const COMMA = Buffer.from(',');

/**
 * Returns the lines of a body. They are not copied: most of their parts share memory with the body.
 *
 * @param body valid JSON that was decoded; must not change while the lines are used
 * @param records how many of its records were accepted
 * @param accepted the accepted records; null for all
 * @param ends where in the body each record ends, if that is known and all are accepted
 * @throws {SluiceError} `body_too_large` when the heads of a record exceed `HEADS_BYTES_MAX`
 */
export function* linesOf(
  signal: Signal,
  body: Buffer,
  records: number,
  accepted: AcceptedRecords | null,
  ends: readonly number[] | null = null,
): Pieces<readonly Line[]> {
  if (records === 0) return [];
  const text = withoutMark(isUtf8(body) ? body : Buffer.from(body.toString('utf8')));
  if (accepted === null && text.length <= LINE_BYTES_MAX) {
    return [{ parts: [withoutLineFeeds(text)], bytes: text.length, records }];
  }
  const found = yield* new RecordFinder(signal, text, accepted, null, ends).find();
  if (found.length !== records) throw new Error(`${found.length} of ${records} records found`);
  checkHeads(found);
  return yield* cutLines(text, found);
}

function checkHeads(found: readonly FoundRecord[]): void {
  let checked: Frame | null = null;
  for (const { frame } of found) {
    if (frame === checked) continue;
    checked = frame;
    const bytes = pathOf(frame).reduce((sum, { head }) => sum + head.length, 0);
    if (bytes <= HEADS_BYTES_MAX) continue;
    throw new SluiceError(
      'body_too_large',
      `A resource and scope of the body have ${bytes} bytes; at most ${HEADS_BYTES_MAX} are allowed.`,
    );
  }
}

function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? body.subarray(BYTE_ORDER_MARK.length)
    : body;
}

/** Replaces line feeds, in a copy; valid JSON has them only between tokens. */
function withoutLineFeeds(part: Buffer): Buffer {
  const first = part.indexOf(LINE_FEED);
  if (first < 0) return part;
  const line = Buffer.from(part);
  // A search for each one takes many times as long when there are many.
  for (let at = first; at < line.length; at += 1) if (line[at] === LINE_FEED) line[at] = SPACE;
  return line;
}

/** Returns a frame and its enclosing frames, the outermost first. */
function pathOf(frame: Frame): Frame[] {
  const path: Frame[] = [];
  for (let at: Frame | null = frame; at !== null; at = at.parent) path.unshift(at);
  return path;
}

/**
 * Joins records to lines. Most of their parts share memory with the text.
 *
 * @param found at least one record of the text, with its frames
 */
export function* cutLines(
  text: Buffer,
  found: readonly FoundRecord<unknown>[],
): Pieces<readonly Line[]> {
  const lines: Line[] = [];
  const line = new LineBuilder(text);
  let pauseBytes = 0;
  for (const record of found) {
    if (line.isFullBefore(record)) {
      pauseBytes += line.length;
      lines.push(line.end());
      if (pauseBytes >= PIECE_BYTES) {
        pauseBytes = 0;
        yield;
      }
    }
    line.add(record);
  }
  lines.push(line.end());
  return lines;
}

class LineBuilder {
  readonly #text: Buffer;
  #parts: Buffer[] = [];
  /** the last part, which is not in `#parts` yet: records of the text that follow each other */
  #start = 0;
  #end = 0;
  /** the open objects, the outermost first */
  #open: readonly Frame[] = [];
  #records = 0;
  length = 0;

  constructor(text: Buffer) {
    this.#text = text;
  }

  /**
   * Checks whether the record belongs in the next line, as one of another request always does. The next
   * line repeats the open heads that enclose the record, so this line must be at least twice as long as
   * these heads.
   */
  isFullBefore({ frame, start, end }: FoundRecord<unknown>): boolean {
    if (this.#records === 0) return false;
    const path = this.#pathOf(frame);
    const common = this.#commonDepth(path);
    // Records of another request.
    if (common === 0) return true;
    let added = 1 + end - start;
    for (const { tail } of path) added += tail.length;
    for (let depth = common; depth < path.length; depth += 1) {
      added += path[depth]?.head.length ?? 0;
    }
    for (let depth = common; depth < this.#open.length; depth += 1) {
      added += this.#open[depth]?.tail.length ?? 0;
    }
    if (this.length + added <= LINE_BYTES_MAX) return false;
    let repeated = 0;
    for (let depth = 0; depth < common; depth += 1) repeated += path[depth]?.head.length ?? 0;
    return this.length >= 2 * repeated;
  }

  add({ frame, start, end }: FoundRecord<unknown>): void {
    const isNext = this.#open.at(-1) === frame;
    this.#records += 1;
    // One byte between two records of a list is a comma.
    if (isNext && this.#hasRecords && start === this.#end + 1) {
      this.length += end - this.#end;
      this.#end = end;
      return;
    }
    if (isNext) this.#put(COMMA);
    else this.#enter(this.#pathOf(frame));
    this.#endRecords();
    this.#start = start;
    this.#end = end;
    this.length += end - start;
  }

  end(): Line {
    this.#close(0);
    const isOfManyParts = this.length < this.#parts.length * PART_BYTES_MIN;
    const parts = isOfManyParts ? [Buffer.concat(this.#parts, this.length)] : this.#parts;
    const line = { parts, bytes: this.length, records: this.#records };
    this.#parts = [];
    this.#records = 0;
    this.length = 0;
    return line;
  }

  /** As `pathOf`. */
  #pathOf(frame: Frame): readonly Frame[] {
    return this.#open.at(-1) === frame ? this.#open : pathOf(frame);
  }

  /** Closes objects that do not enclose the frame at the path's end, and opens objects that do. */
  #enter(path: readonly Frame[]): void {
    const common = this.#commonDepth(path);
    const isFirst = this.#open.length === 0;
    this.#close(common);
    if (!isFirst) this.#put(COMMA);
    for (let depth = common; depth < path.length; depth += 1)
      this.#put((path[depth] as Frame).head);
    this.#open = path;
  }

  #commonDepth(path: readonly Frame[]): number {
    let depth = 0;
    while (depth < this.#open.length && this.#open[depth] === path[depth]) depth += 1;
    return depth;
  }

  /** Closes the objects from a depth on, the innermost first. */
  #close(depth: number): void {
    if (depth === this.#open.length) return;
    let tail = '';
    for (let at = this.#open.length - 1; at >= depth; at -= 1) tail += this.#open[at]?.tail ?? '';
    this.#put(Buffer.from(tail));
    this.#open = this.#open.slice(0, depth);
  }

  #put(part: Buffer): void {
    this.#endRecords();
    this.#parts.push(withoutLineFeeds(part));
    this.length += part.length;
  }

  get #hasRecords(): boolean {
    return this.#end > this.#start;
  }

  #endRecords(): void {
    if (this.#hasRecords) {
      this.#parts.push(withoutLineFeeds(this.#text.subarray(this.#start, this.#end)));
    }
    this.#start = this.#end;
  }
}
