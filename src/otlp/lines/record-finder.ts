/**
 * Finds records in the JSON of an export request without building values: where each begins and ends, and
 * the objects that enclose it.
 */
import type { Signal } from '../../model/telemetry.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { JsonWalk } from './json-walk.ts';

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
export interface Frame {
  readonly parent: Frame | null;
  /** its text up to the first element or the enclosed object */
  head: Buffer;
  /** the text that closes it */
  tail: string;
}

export interface FoundRecord<V = null> {
  /** number of the span or log record, from 0 in the order of the text, as JSON.parse reads it */
  readonly item: number;
  readonly frame: Frame;
  readonly start: number;
  readonly end: number;
  /** the part that was read */
  readonly value: V;
}

/** Reads a record. The walk is at its first byte, and then after its last one. */
export type ReadRecord<V> = (walk: JsonWalk) => Pieces<V>;

const NONE: readonly never[] = [];
const NOTHING = Buffer.alloc(0);
const COMMA = 0x2c;

interface Numbers {
  has(number: number): boolean;
}

export interface WantedRecords {
  /** numbers of the items (spans, log records, metrics) */
  readonly items: Numbers;
  /** by item number: points of a metric; all points of the other metrics */
  readonly points?: ReadonlyMap<number, Numbers>;
}

/** Finds records of requests and the objects that enclose them. */
export class RecordFinder<V = null> {
  readonly #walk: JsonWalk;
  readonly #text: Buffer;
  readonly #levels: readonly Level[];
  readonly #wanted: WantedRecords | null;
  readonly #read: ReadRecord<V> | null;
  readonly #ends: readonly number[] | null;
  #found: FoundRecord<V>[] = [];
  #item = 0;
  #pauseAt = PIECE_BYTES;

  /**
   * @param wanted null for all
   * @param read of the wanted records that are objects; null to skip them
   * @param ends where each record ends, if that is known; only with all records of one request
   */
  constructor(
    signal: Signal,
    text: Buffer,
    wanted: WantedRecords | null,
    read: ReadRecord<V> | null = null,
    ends: readonly number[] | null = null,
  ) {
    this.#ends = ends;
    this.#levels = LEVELS[signal];
    this.#text = text;
    this.#walk = new JsonWalk(text);
    this.#wanted = wanted;
    this.#read = read;
  }

  /** Number of the next item; the items of all requests are numbered together. */
  get item(): number {
    return this.#item;
  }

  /**
   * Finds the records of one request.
   *
   * @param start of the request in the text
   */
  *find(start = 0): Pieces<readonly FoundRecord<V>[]> {
    this.#walk.at = start;
    if (!this.#walk.isObject) return NONE;
    this.#found = [];
    yield* this.#object(null, 0, null);
    return this.#found;
  }

  /**
   * Walks through an object. If members have the same name, the last one counts, as in `JSON.parse`:
   * records of the earlier members are dropped.
   *
   * @param points the wanted points of the object's metric; null for all
   */
  *#object(parent: Frame | null, depth: number, points: Numbers | null): Pieces<void> {
    const walk = this.#walk;
    const { names, isList } = this.#levels[depth] as Level;
    const frame: Frame = { parent, head: NOTHING, tail: isList ? ']}' : '}' };
    const others = new Ranges();
    const first = { found: this.#found.length, item: this.#item };
    // Name of the member that leads to the records; empty until it is found.
    let entered = '';
    // Records of other leading members: a later null may leave one of them as the only kind.
    let set: Map<string, FoundRecord<V>[]> | null = null;
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      const start = walk.keyAt;
      const leads = names.includes(key) && (isList ? walk.isList : walk.isObject);
      if (entered !== '' && (entered === key || leads)) {
        const found = this.#found.splice(first.found);
        if (entered !== key) set = (set ?? new Map<string, FoundRecord<V>[]>()).set(entered, found);
        this.#item = first.item;
        entered = '';
      }
      set?.delete(key);
      if (!leads) {
        if (!walk.skipUpTo(walk.at + PIECE_BYTES)) yield* walk.skipInPieces();
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

  *#list(frame: Frame, depth: number, points: Numbers | null): Pieces<void> {
    const walk = this.#walk;
    const isOfRecords = depth === this.#levels.length - 1;
    const items = this.#wanted?.items;
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
        const some = isItem ? (this.#wanted?.points?.get(item) ?? null) : null;
        yield* this.#object(frame, depth + 1, some);
        continue;
      }
      const end = isOfRecords ? this.#ends?.[this.#found.length] : undefined;
      let value = null as V;
      if (isTaken && isOfRecords && this.#read !== null && walk.isObject) {
        value = yield* this.#read(walk);
      } else if (end !== undefined) {
        walk.at = end;
      } else if (!walk.skipUpTo(start + PIECE_BYTES)) {
        yield* walk.skipInPieces();
      }
      if (isTaken && isOfRecords) this.#found.push({ item, frame, start, end: walk.at, value });
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

  end(): void {
    this.#isOpen = false;
  }
}
