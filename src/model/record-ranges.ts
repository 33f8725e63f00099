/**
 * Sets of records by their numbers, as ranges: start and end (not included) of each range, in rising order
 * and apart from each other. A block's place of a run is stored in this form (`places.records`).
 */
export type RecordRanges = readonly number[];

/** Adds a range to a list. @param start not less than the last end of the list */
export function addRange(ranges: number[], start: number, end: number): void {
  const last = ranges.length - 1;
  if (last > 0 && ranges[last] === start) ranges[last] = end;
  else ranges.push(start, end);
}

/** Adds ranges to a list. @param more none of them starts before the last end of the list */
export function addRanges(ranges: number[], more: RecordRanges): void {
  for (let at = 0; at < more.length; at += 2) {
    addRange(ranges, more[at] as number, more[at + 1] as number);
  }
}

export function firstRecords(ranges: RecordRanges, recordsMax: number): RecordRanges {
  const first: number[] = [];
  let rest = recordsMax;
  for (let at = 0; at < ranges.length && rest > 0; at += 2) {
    const start = ranges[at] as number;
    const end = Math.min(ranges[at + 1] as number, start + rest);
    first.push(start, end);
    rest -= end - start;
  }
  return first;
}

/** Returns the records that are in none of these ranges. @param count of all records */
export function withoutRecords(
  ranges: RecordRanges,
  count = Number.MAX_SAFE_INTEGER,
): RecordRanges {
  const others: number[] = [];
  let next = 0;
  for (let at = 0; at <= ranges.length; at += 2) {
    const start = Math.min(ranges[at] ?? count, count);
    if (start > next) addRange(others, next, start);
    next = Math.max(next, ranges[at + 1] ?? count);
  }
  return others;
}

/** Returns the number of a record by its position among all, from 0. */
export function nthRecord(ranges: RecordRanges, position: number): number {
  let rest = position;
  for (let at = 0; at < ranges.length; at += 2) {
    const start = ranges[at] as number;
    const length = (ranges[at + 1] as number) - start;
    if (rest < length) return start + rest;
    rest -= length;
  }
  throw new RangeError('a record that the ranges do not have');
}

export function countRecords(ranges: RecordRanges): number {
  let records = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    records += (ranges[at + 1] as number) - (ranges[at] as number);
  }
  return records;
}

/** Most bytes of a number of 32 bits. */
const VARINT_BYTES = 5;

export function encodedBytesMax(ranges: RecordRanges): number {
  return ranges.length * VARINT_BYTES;
}

/**
 * Encodes ranges as numbers of variable length (LEB128): the distance of each bound from the bound before
 * it; the first from 0.
 *
 * @param into has room for `encodedBytesMax` from `at` on
 */
export function encodeRanges(ranges: RecordRanges, into: Buffer, at: number): number {
  let end = at;
  let before = 0;
  for (const bound of ranges) {
    let rest = bound - before;
    before = bound;
    for (; rest > 0x7f; rest >>>= 7) {
      into[end] = (rest & 0x7f) | 0x80;
      end += 1;
    }
    into[end] = rest;
    end += 1;
  }
  return end;
}

/** Decodes ranges. @throws {RangeError} if the bytes are none */
export function decodeRanges(bytes: Buffer): RecordRanges {
  const ranges: number[] = [];
  let bound = 0;
  for (let at = 0; at < bytes.length; ) {
    let distance = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = bytes[at] ?? Number.NaN;
      if (Number.isNaN(byte) || shift > 28) throw new RangeError('damaged ranges of records');
      distance += (byte & 0x7f) * 2 ** shift;
      shift += 7;
      at += 1;
    } while (byte > 0x7f);
    // Ranges are not empty, and are apart.
    if (distance === 0 && ranges.length > 0) throw new RangeError('damaged ranges of records');
    bound += distance;
    ranges.push(bound);
  }
  if (ranges.length % 2 !== 0) throw new RangeError('damaged ranges of records');
  return ranges;
}
