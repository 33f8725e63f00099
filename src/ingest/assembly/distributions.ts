/**
 * The bucket counts and bounds of a histogram's point, which are stored as one JSON text, by the rules
 * of `src/otlp/fast/point-scanner.ts`.
 */
import { isSame, nextElement, put, skipNull, skipSpace, state, unusual } from './memory.ts';
import { copyCount, copyDouble, readDouble } from './numbers.ts';

/** A longer list of bounds is not ordinary. */
const BOUNDS_BYTES_MAX: i32 = 4096;
/** What a bound's text may be longer than it was sent, with a comma: 1e20 has 23 characters. */
const BOUNDS_GROWTH: i32 = 5;
/** What a copy may write past its end. */
const OVERRUN_BYTES: i32 = 32;
const SAFE_MAX: u64 = 0x1fffffffffffff;

// The last list of bounds, as sent and as stored: all points of a histogram have the same.
const SENT = <i32>memory.data(BOUNDS_BYTES_MAX + OVERRUN_BYTES, 16);
const STORED = <i32>memory.data(BOUNDS_BYTES_MAX * BOUNDS_GROWTH + OVERRUN_BYTES, 16);

/** Of the current point: how many, and where in the texts. */
export class distribution {
  static buckets: i32 = 0;
  static bucketsSum: u64 = 0;
  static bucketsStart: i32 = 0;
  static bucketsEnd: i32 = 0;
  static bounds: i32 = 0;
  static boundsStart: i32 = 0;
  static boundsEnd: i32 = 0;
}

/** Of the last list of bounds. */
class last {
  static sentBytes: i32 = 0;
  static storedBytes: i32 = 0;
  static bounds: i32 = 0;
}

/** Starts a point. */
export function clearDistribution(): void {
  distribution.buckets = 0;
  distribution.bucketsSum = 0;
  distribution.bucketsStart = 0;
  distribution.bucketsEnd = 0;
  distribution.bounds = 0;
  distribution.boundsStart = 0;
  distribution.boundsEnd = 0;
}

/** Copies null, as nothing, or a list of counts, without its brackets. */
export function copyBucketCounts(at: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  distribution.bucketsStart = state.text;
  let sum: u64 = 0;
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = copyCount(at);
    if (at === 0) return 0;
    sum += state.value;
    distribution.buckets += 1;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  if (sum > SAFE_MAX) return unusual(at);
  distribution.bucketsSum = sum;
  distribution.bucketsEnd = state.text;
  return at + 1;
}

/** Copies null, as nothing, or a list of rising bounds, without its brackets. */
export function copyBounds(at: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  distribution.boundsStart = state.text;
  if (last.sentBytes > 0 && isSame(at, SENT, last.sentBytes)) {
    memory.copy(state.text, STORED, last.storedBytes);
    state.text += last.storedBytes;
    distribution.bounds = last.bounds;
    distribution.boundsEnd = state.text;
    return at + last.sentBytes;
  }
  return copyOtherBounds(at);
}

/** Copies a list of bounds that is not the last one. */
function copyOtherBounds(start: i32): i32 {
  let at = skipSpace(start + 1);
  let below = -Infinity;
  let bounds = 0;
  while (load<u8>(at) !== 0x5d) {
    if (at - start > BOUNDS_BYTES_MAX) return unusual(at);
    const end = readDouble(at);
    if (end === 0) return 0;
    if (state.real <= below) return unusual(at);
    below = state.real;
    bounds += 1;
    at = copyDouble(at);
    if (at === 0) return 0;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  const sent = at + 1 - start;
  if (sent > BOUNDS_BYTES_MAX) return unusual(at);
  last.sentBytes = sent;
  last.storedBytes = state.text - distribution.boundsStart;
  last.bounds = bounds;
  memory.copy(SENT, start, sent);
  memory.copy(STORED, distribution.boundsStart, last.storedBytes);
  distribution.bounds = bounds;
  distribution.boundsEnd = state.text;
  return at + 1;
}

// {"bucketCounts":[
const COUNTS_TEXT = <i32>(
  memory.data<u8>([
    0x7b, 0x22, 0x62, 0x75, 0x63, 0x6b, 0x65, 0x74, 0x43, 0x6f, 0x75, 0x6e, 0x74, 0x73, 0x22, 0x3a,
    0x5b,
  ])
);
const COUNTS_TEXT_BYTES: i32 = 17;
// ],"explicitBounds":[
const BOUNDS_TEXT = <i32>(
  memory.data<u8>([
    0x5d, 0x2c, 0x22, 0x65, 0x78, 0x70, 0x6c, 0x69, 0x63, 0x69, 0x74, 0x42, 0x6f, 0x75, 0x6e, 0x64,
    0x73, 0x22, 0x3a, 0x5b,
  ])
);
const BOUNDS_TEXT_BYTES: i32 = 20;

/** Writes both lists as they are stored, at the end of the texts. */
export function writeDistribution(): void {
  append(COUNTS_TEXT, COUNTS_TEXT_BYTES);
  append(distribution.bucketsStart, distribution.bucketsEnd - distribution.bucketsStart);
  append(BOUNDS_TEXT, BOUNDS_TEXT_BYTES);
  append(distribution.boundsStart, distribution.boundsEnd - distribution.boundsStart);
  put(0x5d);
  put(0x7d);
}

/** Appends bytes to the texts. */
function append(start: i32, length: i32): void {
  memory.copy(state.text, start, length);
  state.text += length;
}
