/**
 * Owns the scanning of one data point of a gauge, sum or histogram; the rules are those of
 * `../metrics.ts` and `../point-values.ts`. Points without a recorded value are left to the plain
 * decoder.
 */

import { parseExemplar } from '../exemplar.ts';
import { Fault } from '../fault.ts';
import { parseListText } from '../list-text.ts';
import { isDigit, ZERO } from './byte-tests.ts';
import { copyOf, isAhead } from './byte-words.ts';
import { EXACT_DIGITS_MAX } from './decimal-double.ts';
import { FieldTable } from './field-table.ts';
import {
  copyCount,
  copyDouble,
  scanCount,
  scanInt64,
  scanOptionalDouble,
  scanTime,
  scanUint,
} from './number-scanner.ts';
import type { ScannedPoint } from './scanned-rows.ts';
import { CLOSE_LIST, COMMA, LEFT_TO_PLAIN, OPEN_LIST, type Scanner } from './scanner.ts';
import { once, reserveRow, scanAttributes } from './span-scanner.ts';

const UINT32_MAX = 0xffffffff;
const NO_RECORDED_VALUE = 1;
/** Longer lists of bounds are not remembered. */
const BOUNDS_BYTES_MAX = 4096;

const SHARED = ['startTimeUnixNano', 'timeUnixNano', 'flags', 'attributes', 'exemplars'];
const NUMBER_POINT = new FieldTable([...SHARED, 'asInt', 'asDouble']);
const HISTOGRAM_POINT = new FieldTable([
  ...SHARED,
  'count',
  'sum',
  'min',
  'max',
  'bucketCounts',
  'explicitBounds',
]);

const BUCKET_COUNTS = Buffer.from('{"bucketCounts":[');
const EXPLICIT_BOUNDS = Buffer.from('],"explicitBounds":[');
const END = Buffer.from(']}');
const PARTS_BYTES = 64;

/** Reads one point into `point`. */
export function scanPoint(scanner: Scanner, point: ScannedPoint, isHistogram: boolean): void {
  point.reset();
  reserveRow(scanner);
  if (isHistogram) scanHistogram(scanner, point);
  else scanNumber(scanner, point);
  if (point.timeSeconds === 0 && point.timeNanos === 0) throw LEFT_TO_PLAIN;
  if ((point.flags & NO_RECORDED_VALUE) !== 0) throw LEFT_TO_PLAIN;
}

function scanNumber(scanner: Scanner, point: ScannedPoint): void {
  let seen = 0;
  for (
    let field = scanner.firstField(NUMBER_POINT);
    field >= 0;
    field = scanner.nextField(NUMBER_POINT)
  ) {
    seen = once(seen, field);
    if (field < SHARED.length) {
      scanShared(scanner, point, field);
    } else if (field > SHARED.length) {
      point.double = scanOptionalDouble(scanner);
    } else if (!scanner.isNull()) {
      point.isNegative = scanInt64(scanner);
      point.intBillions = scanner.seconds;
      point.intRest = scanner.nanos;
      point.hasInt = true;
    }
  }
  // Exactly one of the two has to be there.
  if (point.hasInt === (point.double !== null)) throw LEFT_TO_PLAIN;
}

function scanShared(scanner: Scanner, point: ScannedPoint, field: number): void {
  switch (field) {
    case 0:
      scanTime(scanner);
      point.startSeconds = scanner.seconds;
      point.startNanos = scanner.nanos;
      break;
    case 1:
      scanTime(scanner);
      point.timeSeconds = scanner.seconds;
      point.timeNanos = scanner.nanos;
      break;
    case 2:
      point.flags = scanUint(scanner, UINT32_MAX);
      break;
    case 3:
      scanAttributes(scanner, point.attributes);
      break;
    default:
      scanExemplars(scanner, point);
  }
}

/** Exemplars are rare: they go the plain decoder's way. */
function scanExemplars(scanner: Scanner, { lists, exemplars }: ScannedPoint): void {
  if (scanner.isNull()) return;
  const start = scanner.at;
  if (!scanner.openList()) return;
  scanner.at = start;
  scanner.skipValue();
  const fault = new Fault();
  const list = scanner.parse(start, scanner.at);
  const text = parseListText(list, 'exemplars', parseExemplar, fault);
  if (fault.refused || text === null) throw LEFT_TO_PLAIN;
  exemplars.start = lists.end;
  lists.text(text);
  exemplars.end = lists.end;
}

// What a list of buckets or bounds left: how many there are, and for buckets how much they hold.
let listed = 0;
let total = 0;

function scanHistogram(scanner: Scanner, point: ScannedPoint): void {
  const { arena } = scanner;
  point.count = 0;
  let seen = 0;
  let buckets = 0;
  let bucketsSum = 0;
  let bucketsStart = 0;
  let bucketsEnd = 0;
  let bounds = 0;
  let boundsStart = 0;
  let boundsEnd = 0;
  for (
    let field = scanner.firstField(HISTOGRAM_POINT);
    field >= 0;
    field = scanner.nextField(HISTOGRAM_POINT)
  ) {
    seen = once(seen, field);
    switch (field) {
      case 5:
        point.count = scanCount(scanner);
        break;
      case 6:
        point.sum = scanOptionalDouble(scanner);
        break;
      case 7:
        point.min = scanOptionalDouble(scanner);
        break;
      case 8:
        point.max = scanOptionalDouble(scanner);
        break;
      case 9:
        bucketsStart = arena.end;
        copyCounts(scanner);
        bucketsEnd = arena.end;
        buckets = listed;
        bucketsSum = total;
        break;
      case 10:
        boundsStart = arena.end;
        copyBounds(scanner);
        boundsEnd = arena.end;
        bounds = listed;
        break;
      default:
        scanShared(scanner, point, field);
    }
  }
  if (buckets + bounds > 0 && (buckets !== bounds + 1 || bucketsSum !== point.count)) {
    throw LEFT_TO_PLAIN;
  }
  const { lists, distribution } = point;
  lists.reserve(PARTS_BYTES);
  distribution.start = lists.end;
  lists.literal(BUCKET_COUNTS);
  lists.copy(arena, bucketsStart, bucketsEnd);
  lists.reserve(PARTS_BYTES);
  lists.literal(EXPLICIT_BOUNDS);
  lists.copy(arena, boundsStart, boundsEnd);
  lists.reserve(PARTS_BYTES);
  lists.literal(END);
  distribution.end = lists.end;
}

/** Writes null (nothing) or a list of counts, as integers with commas between them. */
function copyCounts(scanner: Scanner): void {
  const { arena } = scanner;
  listed = 0;
  total = 0;
  if (scanner.isNull() || copyCountsAsTheyStand(scanner)) return;
  total = 0;
  listed = 0;
  for (let more = scanner.openList(); more; more = scanner.nextElement()) {
    if (listed > 0) arena.byte(COMMA);
    total += copyCount(scanner);
    listed += 1;
  }
  if (total > Number.MAX_SAFE_INTEGER) throw LEFT_TO_PLAIN;
}

/** A list of numbers without white space is stored as it was written; false for any other. */
function copyCountsAsTheyStand(scanner: Scanner): boolean {
  if (scanner.peek() !== OPEN_LIST) return false;
  const { view } = scanner;
  const start = scanner.at + 1;
  let at = start;
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
  return true;
}

// The bounds that were read last, in JSON, and as they are stored: a histogram's points all have the
// same. Both are the same text, written in two ways.
let lastBounds: DataView | null = null;
let lastText = new Uint8Array(0);
let lastCount = 0;

/** Writes null (nothing) or a list of bounds that rise, as doubles with commas between them. */
function copyBounds(scanner: Scanner): void {
  const { arena } = scanner;
  listed = 0;
  if (scanner.isNull()) return;
  const start = scanner.at;
  if (lastBounds !== null && isAhead(lastBounds, scanner.view, start)) {
    scanner.noteStructures(1);
    arena.literal(lastText);
    scanner.at = start + lastBounds.byteLength;
    listed = lastCount;
    return;
  }
  const textStart = arena.end;
  let below = Number.NEGATIVE_INFINITY;
  for (let more = scanner.openList(); more; more = scanner.nextElement()) {
    if (listed > 0) arena.byte(COMMA);
    const bound = copyDouble(scanner);
    if (bound <= below) throw LEFT_TO_PLAIN;
    below = bound;
    listed += 1;
  }
  if (scanner.at - start > BOUNDS_BYTES_MAX) return;
  lastBounds = copyOf(scanner.view, start, scanner.at);
  lastText = arena.bytes.slice(textStart, arena.end);
  lastCount = listed;
}
