/**
 * Scans one data point of a gauge, sum or histogram, by the rules of `../metrics.ts` and
 * `../point-values.ts`. Points without a recorded value fall back to the plain decoder.
 */

import { POINT_COLUMNS } from '../../model/columns.ts';
import { parseExemplar } from '../exemplar.ts';
import { Fault } from '../fault.ts';
import { parseListText } from '../list-text.ts';
import type { AttributeScanner } from './attribute-scanner.ts';
import { isDigit, ZERO } from './byte-tests.ts';
import { copyOf, isAhead } from './byte-words.ts';
import { EXACT_DIGITS_MAX } from './decimal-double.ts';
import { copyCount, copyDouble } from './number-scanner.ts';
import { RowLayout, RowMembers } from './row-layout.ts';
import { markSeen, scanMember, startRow } from './row-scanner.ts';
import { ScannedRow } from './scanned-row.ts';
import { CLOSE_LIST, COMMA, FALLBACK, OPEN_LIST } from './scanner.ts';

const NO_RECORDED_VALUE = 1;
/** Longer lists of bounds are not cached. */
const BOUNDS_BYTES_MAX = 4096;

export const POINT_LAYOUT = new RowLayout(POINT_COLUMNS);
const TIME = POINT_LAYOUT.slot('time_unix_nano');
const FLAGS = POINT_LAYOUT.slot('flags');
const VALUE_INT = POINT_LAYOUT.slot('value_int');
const VALUE_DOUBLE = POINT_LAYOUT.slot('value_double');
const COUNT = POINT_LAYOUT.slot('count');
const DISTRIBUTION = POINT_LAYOUT.slot('distribution');
const EXEMPLARS = POINT_LAYOUT.slot('exemplars');

/** Members of a gauge's or sum's point. */
export const NUMBER_MEMBERS: readonly string[] = ['asInt', 'asDouble'];
const HISTOGRAM_VALUES = ['count', 'sum', 'min', 'max'];
const HISTOGRAM_LISTS = ['bucketCounts', 'explicitBounds'];
/** Members of a histogram's point. */
export const HISTOGRAM_MEMBERS: readonly string[] = [...HISTOGRAM_VALUES, ...HISTOGRAM_LISTS];

const BUCKET_COUNTS = Buffer.from('{"bucketCounts":[');
const EXPLICIT_BOUNDS = Buffer.from('],"explicitBounds":[');
const END = Buffer.from(']}');
const PARTS_BYTES = 64;

export class PointScanner {
  readonly row: ScannedRow;
  readonly #scanner: AttributeScanner;
  readonly #ofNumber = new RowMembers(POINT_LAYOUT, ['exemplars'], HISTOGRAM_VALUES);
  readonly #ofHistogram = new RowMembers(
    POINT_LAYOUT,
    ['exemplars', ...HISTOGRAM_LISTS],
    NUMBER_MEMBERS,
  );
  readonly #bucketCounts = this.#ofHistogram.number('bucketCounts');
  readonly #explicitBounds = this.#ofHistogram.number('explicitBounds');
  // Of the last list of bucket counts or bounds: its length, and the sum of the counts.
  #listed = 0;
  #total = 0;
  // The last list of bounds, as sent and as stored: all points of a histogram have the same.
  #lastBounds: DataView | null = null;
  #lastText = new Uint8Array(0);
  #lastCount = 0;

  constructor(scanner: AttributeScanner) {
    this.#scanner = scanner;
    this.row = new ScannedRow(POINT_LAYOUT, scanner.arena);
  }

  /** Reads one point into `row`. */
  scan(isHistogram: boolean): void {
    const { row } = this;
    const { numbers } = row;
    startRow(this.#scanner, row);
    if (isHistogram) this.#scanHistogram();
    else this.#scanNumber();
    if (numbers[TIME] === 0 && numbers[TIME + 1] === 0) throw FALLBACK;
    if (((numbers[FLAGS] as number) & NO_RECORDED_VALUE) !== 0) throw FALLBACK;
  }

  #scanNumber(): void {
    const scanner = this.#scanner;
    const members = this.#ofNumber;
    const { table } = members;
    const { row } = this;
    let seen = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (!scanMember(scanner, row, members, member)) this.#scanExemplars();
    }
    // Exactly one of the two must be present.
    const { numbers } = row;
    if ((numbers[VALUE_INT] === null) === (numbers[VALUE_DOUBLE] === null)) throw FALLBACK;
  }

  /** Exemplars are rare: the plain decoder parses them. */
  #scanExemplars(): void {
    const scanner = this.#scanner;
    if (scanner.isNull()) return;
    const start = scanner.at;
    if (!scanner.openList()) return;
    scanner.at = start;
    scanner.skipValue();
    const fault = new Fault();
    const list = scanner.parse(start, scanner.at);
    const text = parseListText(list, 'exemplars', parseExemplar, fault);
    if (fault.refused || text === null) throw FALLBACK;
    this.row.writeList(EXEMPLARS, text);
  }

  #scanHistogram(): void {
    const scanner = this.#scanner;
    const members = this.#ofHistogram;
    const { table } = members;
    const { row } = this;
    const { arena } = scanner;
    row.numbers[COUNT] = 0;
    let seen = 0;
    let buckets = 0;
    let bucketsSum = 0;
    let bucketsStart = 0;
    let bucketsEnd = 0;
    let bounds = 0;
    let boundsStart = 0;
    let boundsEnd = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (scanMember(scanner, row, members, member)) continue;
      const { end } = arena;
      if (member === this.#bucketCounts) {
        this.#copyCounts();
        bucketsStart = end;
        bucketsEnd = arena.end;
        buckets = this.#listed;
        bucketsSum = this.#total;
      } else if (member === this.#explicitBounds) {
        this.#copyBounds();
        boundsStart = end;
        boundsEnd = arena.end;
        bounds = this.#listed;
      } else {
        this.#scanExemplars();
      }
    }
    if (buckets + bounds > 0 && (buckets !== bounds + 1 || bucketsSum !== row.numbers[COUNT])) {
      throw FALLBACK;
    }
    const { lists, ranges } = row;
    lists.reserve(PARTS_BYTES);
    ranges[DISTRIBUTION] = lists.end;
    lists.literal(BUCKET_COUNTS);
    lists.copy(arena, bucketsStart, bucketsEnd);
    lists.reserve(PARTS_BYTES);
    lists.literal(EXPLICIT_BOUNDS);
    lists.copy(arena, boundsStart, boundsEnd);
    lists.reserve(PARTS_BYTES);
    lists.literal(END);
    ranges[DISTRIBUTION + 1] = lists.end;
  }

  /** Writes a list of counts (or null, as nothing) as integers separated by commas. */
  #copyCounts(): void {
    const scanner = this.#scanner;
    this.#listed = 0;
    this.#total = 0;
    if (scanner.isNull() || this.#copyCountsUnchanged()) return;
    const { arena } = scanner;
    let total = 0;
    let listed = 0;
    for (let more = scanner.openList(); more; more = scanner.nextElement()) {
      if (listed > 0) arena.byte(COMMA);
      total += copyCount(scanner);
      listed += 1;
    }
    if (total > Number.MAX_SAFE_INTEGER) throw FALLBACK;
    this.#listed = listed;
    this.#total = total;
  }

  /** Copies a list of JSON numbers without white space as sent; false for any other list. */
  #copyCountsUnchanged(): boolean {
    const scanner = this.#scanner;
    if (scanner.peek() !== OPEN_LIST) return false;
    const { view } = scanner;
    const start = scanner.at + 1;
    let at = start;
    let total = 0;
    let listed = 0;
    for (;;) {
      const first = at;
      let count = 0;
      let byte = view.getUint8(at);
      while (isDigit(byte)) {
        count = count * 10 + (byte - ZERO);
        at += 1;
        byte = view.getUint8(at);
      }
      const digits = at - first;
      if (digits === 0 || digits > EXACT_DIGITS_MAX) return false;
      if (digits > 1 && view.getUint8(first) === ZERO) return false;
      total += count;
      listed += 1;
      if (byte === CLOSE_LIST) break;
      if (byte !== COMMA) return false;
      at += 1;
    }
    if (total > Number.MAX_SAFE_INTEGER) return false;
    scanner.noteStructures(1);
    scanner.arena.words(view, start, at);
    scanner.at = at + 1;
    this.#listed = listed;
    this.#total = total;
    return true;
  }

  /** Writes a list of rising bounds (or null, as nothing) as doubles separated by commas. */
  #copyBounds(): void {
    const scanner = this.#scanner;
    const { arena } = scanner;
    this.#listed = 0;
    if (scanner.isNull()) return;
    const start = scanner.at;
    if (this.#lastBounds !== null && isAhead(this.#lastBounds, scanner.view, start)) {
      scanner.noteStructures(1);
      arena.literal(this.#lastText);
      scanner.at = start + this.#lastBounds.byteLength;
      this.#listed = this.#lastCount;
      return;
    }
    const textStart = arena.end;
    let below = Number.NEGATIVE_INFINITY;
    let listed = 0;
    for (let more = scanner.openList(); more; more = scanner.nextElement()) {
      if (listed > 0) arena.byte(COMMA);
      const bound = copyDouble(scanner);
      if (bound <= below) throw FALLBACK;
      below = bound;
      listed += 1;
    }
    this.#listed = listed;
    if (scanner.at - start > BOUNDS_BYTES_MAX) return;
    this.#lastBounds = copyOf(scanner.view, start, scanner.at);
    this.#lastText = arena.bytes.slice(textStart, arena.end);
    this.#lastCount = listed;
  }
}
