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

import type { Signal } from '../../model/telemetry.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { JsonWalk } from './json-walk.ts';
import type { AcceptedRecords, NumberRanges } from './record-set.ts';

/** Maximum bytes of a line, unless a record or its heads are larger. */
export const LINE_BYTES_MAX = 256 * 1024;

/** A line of OTLP/JSON, without a line feed. */
export interface Line {
  readonly bytes: Buffer;
  /** spans, log records or data points */
  readonly records: number;
}

/** The member of an object that leads to the records: a list, or an object with such a member. */
interface Level {
  readonly names: readonly string[];
  readonly isList: boolean;
}

const list = (name: string): Level => ({ names: [name], isList: true });
const METRIC_KINDS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'];

const LEVELS: Readonly<Record<Signal, readonly Level[]>> = {
  traces: [list('resourceSpans'), list('scopeSpans'), list('spans')],
  logs: [list('resourceLogs'), list('scopeLogs'), list('logRecords')],
  metrics: [
    list('resourceMetrics'),
    list('scopeMetrics'),
    list('metrics'),
    { names: METRIC_KINDS, isList: false },
    list('dataPoints'),
  ],
};
/** Level of the items: spans, log records, metrics. */
const ITEM_LEVEL = 2;

/** An object that encloses records. */
interface Frame {
  readonly parent: Frame | null;
  /** its text up to the first element or the enclosed object */
  head: Buffer;
  /** the text that closes it */
  tail: string;
}

interface Found {
  readonly frame: Frame;
  readonly start: number;
  readonly end: number;
}

const NONE: readonly Found[] = [];
const NOTHING = Buffer.alloc(0);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = 0x0a;
const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * Returns the lines of a body. They do not share memory with it.
 *
 * @param body valid JSON that was decoded; read until this ends
 * @param records how many of its records were accepted
 * @param accepted the accepted records; null for all
 */
export function* linesOf(
  signal: Signal,
  body: Buffer,
  records: number,
  accepted: AcceptedRecords | null,
): Pieces<readonly Line[]> {
  if (records === 0) return [];
  const text = withoutMark(isUtf8(body) ? body : Buffer.from(body.toString('utf8')));
  if (accepted === null && text.length <= LINE_BYTES_MAX) {
    return [{ bytes: withoutLineFeeds(Buffer.from(text)), records }];
  }
  const found = yield* new RecordFinder(signal, text, accepted).find();
  if (found.length !== records) throw new Error(`${found.length} of ${records} records found`);
  return yield* cut(text, found);
}

function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? body.subarray(BYTE_ORDER_MARK.length)
    : body;
}

/** Replaces line feeds; valid JSON has them only between tokens. */
function withoutLineFeeds(line: Buffer): Buffer {
  const first = line.indexOf(LINE_FEED);
  if (first < 0) return line;
  // A search for each one takes many times as long when there are many.
  for (let at = first; at < line.length; at += 1) if (line[at] === LINE_FEED) line[at] = SPACE;
  return line;
}

/** Finds the accepted records of a body and the objects that enclose them. */
class RecordFinder {
  readonly #walk: JsonWalk;
  readonly #text: Buffer;
  readonly #levels: readonly Level[];
  readonly #accepted: AcceptedRecords | null;
  #found: Found[] = [];
  /** number of the next item */
  #item = 0;
  #pauseAt = PIECE_BYTES;

  constructor(signal: Signal, text: Buffer, accepted: AcceptedRecords | null) {
    this.#levels = LEVELS[signal];
    this.#text = text;
    this.#walk = new JsonWalk(text);
    this.#accepted = accepted;
  }

  *find(): Pieces<readonly Found[]> {
    if (!this.#walk.isObject) return NONE;
    yield* this.#object(null, 0, null);
    return this.#found;
  }

  /**
   * Walks through an object. If members have the same name, the last one counts, as in `JSON.parse`:
   * records of the earlier members are dropped.
   *
   * @param points the accepted points of the object's metric; null for all
   */
  *#object(parent: Frame | null, depth: number, points: NumberRanges | null): Pieces<void> {
    const walk = this.#walk;
    const { names, isList } = this.#levels[depth] as Level;
    const frame: Frame = { parent, head: NOTHING, tail: isList ? ']}' : '}' };
    const others = new Ranges();
    const first = { found: this.#found.length, item: this.#item };
    // Name of the member that leads to the records; empty until it is found.
    let entered = '';
    // Records of other leading members: a later null may leave one of them as the only kind.
    let set: Map<string, Found[]> | null = null;
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      const start = walk.keyAt;
      const leads = names.includes(key) && (isList ? walk.isList : walk.isObject);
      if (entered !== '' && (entered === key || leads)) {
        const found = this.#found.splice(first.found);
        if (entered !== key) set = (set ?? new Map<string, Found[]>()).set(entered, found);
        this.#item = first.item;
        entered = '';
      }
      set?.delete(key);
      if (!leads) {
        walk.skip();
        others.add(start, walk.at);
        continue;
      }
      entered = key;
      others.end();
      if (isList) yield* this.#list(frame, depth, points);
      else yield* this.#object(frame, depth + 1, points);
    }
    for (const [name, found] of entered === '' ? (set ?? []) : []) {
      entered = name;
      for (const record of found) this.#found.push(record);
    }
    if (this.#found.length === first.found) return;
    frame.head = this.#headOf(others, `"${entered}":${isList ? '[' : ''}`);
  }

  *#list(frame: Frame, depth: number, points: NumberRanges | null): Pieces<void> {
    const walk = this.#walk;
    const isOfRecords = depth === this.#levels.length - 1;
    const items = this.#accepted?.items;
    let element = 0;
    for (let more = walk.firstElement(); more; more = walk.nextElement()) {
      if (walk.at >= this.#pauseAt) {
        this.#pauseAt = walk.at + PIECE_BYTES;
        yield;
      }
      const isItem = depth === ITEM_LEVEL;
      const item = this.#item;
      if (isItem) this.#item += 1;
      const isTaken = (isItem ? items?.has(item) : points?.has(element)) ?? true;
      element += 1;
      const start = walk.at;
      if (isTaken && !isOfRecords && walk.isObject) {
        const some = isItem ? (this.#accepted?.points.get(item) ?? null) : null;
        yield* this.#object(frame, depth + 1, some);
        continue;
      }
      walk.skip();
      if (isTaken && isOfRecords) this.#found.push({ frame, start, end: walk.at });
    }
  }

  #headOf({ bounds, bytes }: Ranges, opening: string): Buffer {
    const head = Buffer.allocUnsafe(1 + bytes + bounds.length / 2 + opening.length);
    let at = head.write('{', 0, 'latin1');
    for (let range = 0; range < bounds.length; range += 2) {
      at += this.#text.copy(head, at, bounds[range], bounds[range + 1]);
      head[at] = COMMA;
      at += 1;
    }
    head.write(opening, at, 'latin1');
    return head;
  }
}

/** Ranges of members. Members in a row are one range: an object may have millions. */
class Ranges {
  /** start and end of each */
  readonly bounds: number[] = [];
  bytes = 0;
  #isOpen = false;

  /** Adds a member that follows the one before, unless `end` was called since. */
  add(start: number, end: number): void {
    const { bounds } = this;
    const last = bounds.length - 1;
    if (this.#isOpen) {
      this.bytes += end - (bounds[last] as number);
      bounds[last] = end;
    } else {
      bounds.push(start, end);
      this.bytes += end - start;
      this.#isOpen = true;
    }
  }

  /** Ends the range. */
  end(): void {
    this.#isOpen = false;
  }
}

/** Returns a frame and its enclosing frames, the outermost first. */
function pathOf(frame: Frame): Frame[] {
  const path: Frame[] = [];
  for (let at: Frame | null = frame; at !== null; at = at.parent) path.unshift(at);
  return path;
}

/** Joins records to lines. */
function* cut(text: Buffer, found: readonly Found[]): Pieces<readonly Line[]> {
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

/** Builds one line after another. */
class LineBuilder {
  readonly #text: Buffer;
  #bytes = Buffer.allocUnsafe(LINE_BYTES_MAX);
  /** the open objects, the outermost first */
  #open: readonly Frame[] = [];
  #records = 0;
  length = 0;

  constructor(text: Buffer) {
    this.#text = text;
  }

  /**
   * Checks whether the record belongs in the next line. The next line repeats the open heads that enclose
   * the record, so this line must be at least twice as long as these heads.
   */
  isFullBefore({ frame, start, end }: Found): boolean {
    if (this.#records === 0) return false;
    const path = this.#pathOf(frame);
    const common = this.#commonDepth(path);
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

  add({ frame, start, end }: Found): void {
    if (this.#open.at(-1) === frame) this.#putText(',');
    else this.#enter(this.#pathOf(frame));
    this.#put(this.#text, start, end);
    this.#records += 1;
  }

  end(): Line {
    this.#close(0);
    const bytes = Buffer.from(this.#bytes.subarray(0, this.length));
    const records = this.#records;
    this.#records = 0;
    this.length = 0;
    if (this.#bytes.length > LINE_BYTES_MAX) this.#bytes = Buffer.allocUnsafe(LINE_BYTES_MAX);
    return { bytes: withoutLineFeeds(bytes), records };
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
    if (!isFirst) this.#putText(',');
    for (let depth = common; depth < path.length; depth += 1) {
      const { head } = path[depth] as Frame;
      this.#put(head, 0, head.length);
    }
    this.#open = path;
  }

  #commonDepth(path: readonly Frame[]): number {
    let depth = 0;
    while (depth < this.#open.length && this.#open[depth] === path[depth]) depth += 1;
    return depth;
  }

  /** Closes the objects from a depth on, the innermost first. */
  #close(depth: number): void {
    for (let at = this.#open.length - 1; at >= depth; at -= 1) {
      this.#putText(this.#open[at]?.tail ?? '');
    }
    this.#open = this.#open.slice(0, depth);
  }

  #put(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    this.length += source.copy(this.#bytes, this.length, start, end);
  }

  /** @param text ASCII */
  #putText(text: string): void {
    this.#reserve(text.length);
    for (let at = 0; at < text.length; at += 1) {
      this.#bytes[this.length + at] = text.charCodeAt(at);
    }
    this.length += text.length;
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#bytes.length) return;
    const longer = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(longer, 0, 0, this.length);
    this.#bytes = longer;
  }
}
