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
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = 0x0a;
const SPACE = 0x20;

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
  return yield* cut(text, found);
}

function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? body.subarray(BYTE_ORDER_MARK.length)
    : body;
}

/** Replaces line feeds; valid JSON has them only between tokens. */
function withoutLineFeeds(line: Buffer): Buffer {
  for (let at = line.indexOf(LINE_FEED); at >= 0; at = line.indexOf(LINE_FEED, at + 1)) {
    line[at] = SPACE;
  }
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
    const frame: Frame = { parent, head: Buffer.alloc(0), tail: isList ? ']}' : '}' };
    const others: [start: number, end: number][] = [];
    const first = { found: this.#found.length, item: this.#item };
    // Name of the member that leads to the records; empty until it is found.
    let entered = '';
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      const start = walk.keyAt;
      const leads = names.includes(key) && (isList ? walk.isList : walk.isObject);
      if (entered !== '' && (entered === key || leads)) {
        this.#found.length = first.found;
        this.#item = first.item;
        entered = '';
      }
      if (!leads) {
        walk.skip();
        others.push([start, walk.at]);
        continue;
      }
      entered = key;
      if (isList) yield* this.#list(frame, depth, points);
      else yield* this.#object(frame, depth + 1, points);
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

  #headOf(members: readonly (readonly [start: number, end: number])[], opening: string): Buffer {
    const parts: Buffer[] = [Buffer.from('{')];
    for (const [start, end] of members) {
      parts.push(this.#text.subarray(start, end), Buffer.from(','));
    }
    parts.push(Buffer.from(opening));
    return Buffer.concat(parts);
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
  let line = new LineBuilder(text);
  let pauseBytes = 0;
  for (const record of found) {
    if (line.isFullBefore(record)) {
      pauseBytes += line.length;
      lines.push(line.end());
      line = new LineBuilder(text);
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
  readonly #parts: Buffer[] = [];
  /** the open objects, the outermost first */
  readonly #open: Frame[] = [];
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
    const path = pathOf(frame);
    const common = this.#commonDepth(path);
    const headBytes = (frames: readonly Frame[]): number =>
      frames.reduce((sum, { head }) => sum + head.length, 0);
    const tailBytes = [...this.#open.slice(common), ...path].reduce(
      (sum, { tail }) => sum + tail.length,
      0,
    );
    const added = 1 + headBytes(path.slice(common)) + (end - start) + tailBytes;
    if (this.length + added <= LINE_BYTES_MAX) return false;
    return this.length >= 2 * headBytes(path.slice(0, common));
  }

  add({ frame, start, end }: Found): void {
    if (this.#open.at(-1) === frame) this.#put(Buffer.from(','));
    else this.#enter(frame);
    this.#put(this.#text.subarray(start, end));
    this.#records += 1;
  }

  end(): Line {
    this.#close(0);
    return { bytes: withoutLineFeeds(Buffer.concat(this.#parts)), records: this.#records };
  }

  /** Closes objects that do not enclose the frame, and opens objects that do. */
  #enter(frame: Frame): void {
    const path = pathOf(frame);
    const common = this.#commonDepth(path);
    const isFirst = this.#open.length === 0;
    this.#close(common);
    for (const [depth, opened] of path.slice(common).entries()) {
      if (depth === 0 && !isFirst) this.#put(Buffer.from(','));
      this.#put(opened.head);
      this.#open.push(opened);
    }
  }

  #commonDepth(path: readonly Frame[]): number {
    let depth = 0;
    while (depth < this.#open.length && this.#open[depth] === path[depth]) depth += 1;
    return depth;
  }

  #close(depth: number): void {
    while (this.#open.length > depth) this.#put(Buffer.from(this.#open.pop()?.tail ?? ''));
  }

  #put(part: Buffer): void {
    this.#parts.push(part);
    this.length += part.length;
  }
}
