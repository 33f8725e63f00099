/**
 * Finds ASCII literals in a text. A text is read in chunks, and a chunk twice:
 *
 *   bytes ──► columns, and for every place: does a literal have this ending?   (no branch: four bitmaps)
 *                │ a tenth of the places
 *                ▼
 *             the literals with this ending, compared ──► hits
 *
 * Nothing depends on what was read before but the last ten characters, so that no step waits for the
 * memory of another, as the steps of an automaton do. `literal-scan.ts` fills the tables.
 */
import * as codes from './codes.ts';

/** Bytes that are read at a time, so that what is noted about them stays in the CPU's cache. */
export const CHUNK_BYTES: i32 = 4096;
/** A place at which a literal may end: the last ten columns, its offset in the text, where its column is. */
const PLACE_BYTES: i32 = 16;
const PLACE_OFFSET: i32 = 8;
const PLACE_COLUMN: i32 = 12;
/** A hit: a literal, and the offset of its last byte. */
const HIT_BYTES: i32 = 8;
const PAGE_BYTES: i32 = 65536;
/** The bit of bytes beyond ASCII; their column is 0, which no literal has. */
const NON_ASCII: i32 = 0x80;
/** Two characters. */
const PAIR: i32 = (1 << (2 * codes.COLUMN_BITS)) - 1;
/** As `MULTIPLIER` of `literal-endings.ts`. */
const MULTIPLIER: u64 = 0x9e3779b97f4a7c15;

const BITMAP_1: i32 = 1 << (codes.BITS_0 - 3);
const BITMAP_2: i32 = BITMAP_1 + (1 << (codes.BITS_1 - 3));
const BITMAP_3: i32 = BITMAP_2 + (1 << (codes.BITS_2 - 3));
const BITMAPS_BYTES: i32 = BITMAP_3 + (1 << (codes.BITS_3 - 3));
// Each class has one more, where its last bucket ends.
const FIRST_1: i32 = (1 << codes.BUCKETS_0) + 1;
const FIRST_2: i32 = FIRST_1 + (1 << codes.BUCKETS_1) + 1;
const FIRST_3: i32 = FIRST_2 + (1 << codes.BUCKETS_2) + 1;
const BUCKETS: i32 = FIRST_3 + (1 << codes.BUCKETS_3) + 1;

const COLUMN_OF = <i32>memory.data(256, 16);
const BITMAPS = <i32>memory.data(BITMAPS_BYTES, 16);
const BUCKET_STARTS = <i32>memory.data(BUCKETS * 4, 16);
/** The columns of the chunk, after the last ones of the chunk before. */
const COLUMNS = <i32>memory.data(codes.ENTRY_BYTES + CHUNK_BYTES, 16) + codes.ENTRY_BYTES;
const CHUNK = <i32>memory.data(CHUNK_BYTES, 16);
const PLACES = <i32>memory.data((CHUNK_BYTES + 1) * PLACE_BYTES, 16);
/** By length: the bytes of an entry that are compared. */
const MASKS = <i32>memory.data(codes.ENTRY_BYTES * codes.ENTRY_BYTES, 16);
/** By class: 64 less the bits of what chooses the bucket, 64 less those of the bucket, its first bucket. */
const CLASSES = <i32>(
  memory.data<i32>([
    64 - codes.COLUMN_BITS * codes.ENDING_0,
    64 - codes.BUCKETS_0,
    0,
    0,
    64 - codes.COLUMN_BITS * codes.ENDING_1,
    64 - codes.BUCKETS_1,
    FIRST_1,
    0,
    64 - codes.COLUMN_BITS * codes.ENDING_2,
    64 - codes.BUCKETS_2,
    FIRST_2,
    0,
    64 - codes.COLUMN_BITS * codes.BUCKETED_3,
    64 - codes.BUCKETS_3,
    FIRST_3,
    0,
  ])
);

export const COLUMNS_AT: i32 = COLUMN_OF;
export const BITMAPS_AT: i32 = BITMAPS;
export const BUCKETS_AT: i32 = BUCKET_STARTS;
export const CHUNK_AT: i32 = CHUNK;

for (let length = 0; length < codes.ENTRY_BYTES; length += 1) {
  memory.fill(MASKS + (length + 1) * codes.ENTRY_BYTES - length, 0xff, length);
}

class state {
  /** the last columns */
  static last: u64 = 0;
  static columnsEnd: i32 = 0;
  /** two blanks as columns; -1 if no literal has blanks */
  static blanks: i32 = 0;
  static entries: i32 = 0;
  static literals: i32 = 0;
  static hits: i32 = 0;
}

/**
 * Has room for so many entries, and for the hits of a chunk.
 *
 * @param blank column of blanks
 * @param alike maximum literals that share one comparison
 * @returns false if there is no memory
 */
export function reserve(blank: i32, entries: i32, alike: i32): bool {
  state.blanks = blank === 0 ? -1 : (blank << codes.COLUMN_BITS) | blank;
  state.entries = (<i32>__heap_base + 15) & ~15;
  state.literals = state.entries + entries * codes.ENTRY_BYTES;
  state.hits = state.literals + entries * 4;
  // At a place end one literal of each length, and those like it.
  const end = state.hits + (CHUNK_BYTES * codes.COMPARED_MAX * alike + 1) * HIT_BYTES;
  const missing = end / PAGE_BYTES + 1 - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0;
}

export function entriesAt(): i32 {
  return state.entries;
}

export function literalsAt(): i32 {
  return state.literals;
}

export function hitsAt(): i32 {
  return state.hits;
}

export function begin(): void {
  state.last = 0;
  memory.fill(COLUMNS - codes.ENTRY_BYTES, 0, codes.ENTRY_BYTES);
}

/** Finds the hits in the chunk, whose first byte has the offset `from`. @returns their end */
export function find(length: i32, from: i32): i32 {
  const hitsEnd = comparePlaces(notePlaces(length, from));
  v128.store(COLUMNS - codes.ENTRY_BYTES, v128.load(state.columnsEnd - codes.ENTRY_BYTES));
  return hitsEnd;
}

/** Writes the columns of the chunk and notes every place where a literal may end. @returns the end of the places */
function notePlaces(length: i32, from: i32): i32 {
  const blanks = state.blanks;
  let last = state.last;
  let column = COLUMNS;
  let place = PLACES;
  for (let at = 0; at < length; ) {
    const byte = <i32>load<u8>(at, CHUNK);
    at += 1;
    if ((byte & NON_ASCII) !== 0) {
      // No literal ends here: not worth a hash.
      last <<= codes.COLUMN_BITS;
      store<u8>(column, 0);
      column += 1;
      continue;
    }
    const own = <i32>load<u8>(byte, COLUMN_OF);
    // A blank behind a blank is as if it were not there.
    if (((((<i32>last) << codes.COLUMN_BITS) | own) & PAIR) === blanks) continue;
    last = (last << codes.COLUMN_BITS) | <u64>own;
    store<u8>(column, <u8>own);
    store<u64>(place, last);
    store<i32>(place, from + at, PLACE_OFFSET);
    store<i32>(place, column, PLACE_COLUMN);
    // Kept if a bit is set, else overwritten by the next one.
    place += ((bit0(last) | bit1(last) | bit2(last) | bit3(last)) & 1) * PLACE_BYTES;
    column += 1;
  }
  state.last = last;
  state.columnsEnd = column;
  return place;
}

// The bit of each class for the last characters, lowest in the result; its other bits are anything.

function bit0(last: u64): i32 {
  const index = hash(last, 64 - codes.COLUMN_BITS * codes.ENDING_0, 64 - codes.BITS_0);
  return <i32>load<u8>(index >> 3, BITMAPS) >> <i32>(index & 7);
}

function bit1(last: u64): i32 {
  const index = hash(last, 64 - codes.COLUMN_BITS * codes.ENDING_1, 64 - codes.BITS_1);
  return <i32>load<u8>(index >> 3, BITMAPS + BITMAP_1) >> <i32>(index & 7);
}

function bit2(last: u64): i32 {
  const index = hash(last, 64 - codes.COLUMN_BITS * codes.ENDING_2, 64 - codes.BITS_2);
  return <i32>load<u8>(index >> 3, BITMAPS + BITMAP_2) >> <i32>(index & 7);
}

function bit3(last: u64): i32 {
  const index = <u32>last & ((1 << codes.BITS_3) - 1);
  return <i32>load<u8>(index >> 3, BITMAPS + BITMAP_3) >> <i32>(index & 7);
}

function hash(last: u64, before: u64, left: u64): u32 {
  return <u32>(((last << before) * MULTIPLIER) >> left);
}

/** Compares the literals with the endings of the noted places. @returns the end of the hits */
function comparePlaces(placesEnd: i32): i32 {
  const entries = state.entries;
  const literals = state.literals;
  let hit = state.hits;
  for (let place = PLACES; place < placesEnd; place += PLACE_BYTES) {
    const last = load<u64>(place);
    const text = v128.load(load<i32>(place, PLACE_COLUMN) - (codes.ENTRY_BYTES - 1));
    const end = load<i32>(place, PLACE_OFFSET) - 1;
    let found =
      (bit0(last) & 1) |
      ((bit1(last) & 1) << 1) |
      ((bit2(last) & 1) << 2) |
      ((bit3(last) & 1) << 3);
    for (; found !== 0; found &= found - 1) {
      const own = ctz(found) << 4;
      const bucket = hash(last, <u64>load<u32>(own, CLASSES), <u64>load<u32>(own, CLASSES + 4));
      const starts = (load<i32>(own, CLASSES + 8) + <i32>bucket) << 2;
      const entriesEnd = load<i32>(starts, BUCKET_STARTS + 4);
      for (let entry = load<i32>(starts, BUCKET_STARTS); entry < entriesEnd; entry += 1) {
        const at = entries + (entry << 4);
        const mask = v128.load((<i32>load<u8>(at)) << 4, MASKS);
        const differing = v128.and(v128.xor(v128.load(at), text), mask);
        // Written always, kept if it is a hit.
        store<i32>(hit, load<i32>(literals + (entry << 2)));
        store<i32>(hit, end, 4);
        hit += <i32>!v128.any_true(differing) * HIT_BYTES;
      }
    }
  }
  return hit;
}
