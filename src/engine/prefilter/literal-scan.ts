/**
 * Owns the search for ASCII literals in a text, as WebAssembly: what JavaScript needs twice the
 * instructions for. A text is read in chunks, and a chunk twice:
 *
 *   bytes ──► columns, and for every place: does a literal have this ending?   (no branch: four bitmaps)
 *                │ a tenth of the places
 *                ▼
 *             the literals with this ending, compared ──► hits
 *
 * Nothing depends on what was read before but the last ten characters, so that no step waits for the
 * memory of another, as the steps of an automaton do.
 */
import {
  BITMAPS_AT,
  BITMAPS_BYTES,
  BUCKETS_AT,
  CLASSES,
  COLUMN_BITS,
  COMPARED_MAX,
  ENTRY_BYTES,
  type EndingClass,
  type EndingTables,
  isExact,
  MULTIPLIER,
} from './literal-endings.ts';
import type { LiteralHits } from './literal-hits.ts';
import {
  block,
  type Code,
  get,
  i32,
  i64,
  instanceOf,
  leave,
  leaveIf,
  loop,
  moduleOf,
  set,
  TYPES,
  v128,
  type WasmFunction,
} from './wasm-code.ts';

/** Bytes that are read at a time, so that what is noted about them stays in the CPU's cache. */
const CHUNK_BYTES = 4096;
/** A place at which a literal may end: the last ten columns, its offset in the text, where its column is. */
const PLACE_BYTES = 16;
const PLACE_OFFSET = 8;
const PLACE_COLUMN = 12;
/** A hit: a literal, and the offset of its last byte. */
const HIT_BYTES = 8;
/** The state for the next chunk: the last columns of this one, as a number and in memory. */
const STATE_BYTES = 8 + ENTRY_BYTES;
const PAGE_BYTES = 65_536;
/** The table's entry for a class: 64 less the bits of what chooses the bucket, of the bucket; its buckets. */
const CLASS_BYTES = 16;
const CLASS_BUCKET_SHIFT = 4;
const CLASS_BUCKETS = 8;
/** The bit of bytes beyond ASCII; their column is 0, which no literal has. */
const NON_ASCII = 0x80;
/** Two characters. */
const PAIR = 2 ** (2 * COLUMN_BITS) - 1;

/** Where things are in the module's memory. */
interface Layout {
  readonly columnOf: number;
  readonly masks: number;
  readonly classes: number;
  readonly bitmaps: number;
  readonly buckets: number;
  readonly entries: number;
  readonly literals: number;
  readonly bytes: number;
  readonly state: number;
  readonly columns: number;
  readonly places: number;
  readonly hits: number;
  readonly end: number;
}

function layoutOf({ buckets, entries, literals, alike }: EndingTables): Layout {
  let end = 0;
  const next = (bytes: number): number => {
    const at = end;
    end += Math.ceil(bytes / ENTRY_BYTES) * ENTRY_BYTES;
    return at;
  };
  const columnOf = next(256);
  const masks = next(ENTRY_BYTES * ENTRY_BYTES);
  const classes = next(CLASSES.length * CLASS_BYTES);
  const bitmaps = next(BITMAPS_BYTES);
  const at = {
    columnOf,
    masks,
    classes,
    bitmaps,
    buckets: next(buckets.byteLength),
    entries: next(entries.byteLength),
    literals: next(literals.byteLength),
    bytes: next(CHUNK_BYTES),
    // Its end, and so the columns, at a multiple of 16.
    state: next(2 * ENTRY_BYTES) + 2 * ENTRY_BYTES - STATE_BYTES,
    columns: next(CHUNK_BYTES),
    places: next((CHUNK_BYTES + 1) * PLACE_BYTES),
    // At a place end one literal of each length, and those like it.
    hits: next((CHUNK_BYTES * COMPARED_MAX * alike + 1) * HIT_BYTES),
  };
  return { ...at, end };
}

/** Parameters and variables of the search. */
const LENGTH = 0;
const FROM = 1;
const AT = 2;
const COLUMN = 3;
const TEXT_COLUMN = 4;
const PLACE = 5;
const PLACES_END = 6;
const HIT = 7;
const ENTRY = 8;
const ENTRIES_END = 9;
const CLASS = 10;
const FOUND = 11;
const INDEX = 12;
const BYTE = INDEX + CLASSES.length;
const LAST = BYTE + 1;
const TEXT = LAST + 1;

const last32 = i32.wrap(get(LAST));
const increase = (local: number, by: number): Code =>
  set(local, i32.add(get(local), i32.const(by)));

/** The bit of each class for the last characters, lowest in its result; its other bits are anything. */
function bitOf(number: number, bitmaps: number): Code {
  const bit = get(INDEX + number);
  const byte = i32.load8(i32.shrU(bit, i32.const(3)), bitmaps + (BITMAPS_AT[number] as number));
  return i32.shrU(byte, i32.and(bit, i32.const(7)));
}

function hash(bitsBefore: Code, bitsLeft: Code): Code {
  const key = i64.shl(get(LAST), bitsBefore);
  return i32.wrap(i64.shrU(i64.mul(key, i64.const(MULTIPLIER)), bitsLeft));
}

function setIndex(one: EndingClass, number: number): Code {
  const { ending, bitsLog } = one;
  const constant = (value: number) => i64.const(BigInt(value));
  const index = isExact(one)
    ? i32.and(last32, i32.const(2 ** bitsLog - 1))
    : hash(constant(64 - COLUMN_BITS * ending), constant(64 - bitsLog));
  return set(INDEX + number, index);
}

const all = (codes: readonly Code[]): Code => codes.reduce((a, b) => i32.or(a, b));

/** Writes the columns of a chunk and notes every place where a literal may end. */
function notePlaces(at: Layout, blank: number): Code {
  const twoBlanks = (blank << COLUMN_BITS) | blank;
  const lastTwo = i32.or(i32.shl(last32, i32.const(COLUMN_BITS)), get(COLUMN));
  return block(
    loop(
      leaveIf(1, i32.geU(get(AT), get(LENGTH))),
      set(BYTE, i32.load8(get(AT), at.bytes)),
      increase(AT, 1),
      // Beyond ASCII no literal ends: not worth a hash.
      block(
        leaveIf(0, i32.eqz(i32.and(get(BYTE), i32.const(NON_ASCII)))),
        set(LAST, i64.shl(get(LAST), i64.const(BigInt(COLUMN_BITS)))),
        i32.store8(get(TEXT_COLUMN), i32.const(0)),
        increase(TEXT_COLUMN, 1),
        leave(1),
      ),
      set(COLUMN, i32.load8(get(BYTE), at.columnOf)),
      // A blank behind a blank is as if it were not there.
      leaveIf(
        0,
        i32.eq(i32.and(lastTwo, i32.const(PAIR)), i32.const(blank === 0 ? -1 : twoBlanks)),
      ),
      set(
        LAST,
        i64.or(i64.shl(get(LAST), i64.const(BigInt(COLUMN_BITS))), i64.extend(get(COLUMN))),
      ),
      i32.store8(get(TEXT_COLUMN), get(COLUMN)),
      ...CLASSES.map(setIndex),
      i64.store(get(PLACE), get(LAST)),
      i32.store(get(PLACE), i32.add(get(FROM), get(AT)), PLACE_OFFSET),
      i32.store(get(PLACE), get(TEXT_COLUMN), PLACE_COLUMN),
      // Kept if a bit is set, else overwritten by the next one.
      set(
        PLACE,
        i32.add(
          get(PLACE),
          i32.shl(
            i32.and(all(CLASSES.map((_, number) => bitOf(number, at.bitmaps))), i32.const(1)),
            i32.const(Math.log2(PLACE_BYTES)),
          ),
        ),
      ),
      increase(TEXT_COLUMN, 1),
      leave(0),
    ),
  );
}

/** Compares the literals of one bucket with the text before a place. */
function compareBucket(at: Layout): Code {
  const address = i32.shl(get(ENTRY), i32.const(Math.log2(ENTRY_BYTES)));
  const length = i32.shl(i32.load8(address, at.entries), i32.const(Math.log2(ENTRY_BYTES)));
  const differing = v128.and(
    v128.xor(v128.load(address, at.entries), get(TEXT)),
    v128.load(length, at.masks),
  );
  return block(
    loop(
      leaveIf(1, i32.geU(get(ENTRY), get(ENTRIES_END))),
      // Written always, kept if it is a hit.
      i32.store(get(HIT), i32.load(i32.shl(get(ENTRY), i32.const(2)), at.literals)),
      i32.store(get(HIT), i32.sub(i32.load(get(PLACE), PLACE_OFFSET), i32.const(1)), 4),
      set(
        HIT,
        i32.add(
          get(HIT),
          i32.shl(i32.eqz(v128.anyTrue(differing)), i32.const(Math.log2(HIT_BYTES))),
        ),
      ),
      increase(ENTRY, 1),
      leave(0),
    ),
  );
}

/** Compares the noted places. */
function comparePlaces(at: Layout): Code {
  const shift = i64.load32(get(CLASS), at.classes);
  const bucketShift = i64.load32(get(CLASS), at.classes + CLASS_BUCKET_SHIFT);
  const bucket = i32.add(
    i32.load(get(CLASS), at.classes + CLASS_BUCKETS),
    i32.shl(hash(shift, bucketShift), i32.const(2)),
  );
  const before = i32.const(ENTRY_BYTES - 1);
  return block(
    loop(
      leaveIf(1, i32.geU(get(PLACE), get(PLACES_END))),
      set(LAST, i64.load(get(PLACE))),
      set(TEXT, v128.load(i32.sub(i32.load(get(PLACE), PLACE_COLUMN), before))),
      ...CLASSES.map(setIndex),
      set(
        FOUND,
        all(
          CLASSES.map((_, number) =>
            i32.shl(i32.and(bitOf(number, at.bitmaps), i32.const(1)), i32.const(number)),
          ),
        ),
      ),
      // Each class whose bit is set, from the lowest; at least one is.
      loop(
        set(CLASS, i32.shl(i32.ctz(get(FOUND)), i32.const(Math.log2(CLASS_BYTES)))),
        set(ENTRY, bucket),
        set(ENTRIES_END, i32.load(get(ENTRY), 4)),
        set(ENTRY, i32.load(get(ENTRY))),
        compareBucket(at),
        set(FOUND, i32.and(get(FOUND), i32.sub(get(FOUND), i32.const(1)))),
        leaveIf(0, get(FOUND)),
      ),
      increase(PLACE, PLACE_BYTES),
      leave(0),
    ),
  );
}

/** `find(length, from)`: the hits in the chunk, whose first byte has this offset; returns their end. */
function functionOf(at: Layout, blank: number): WasmFunction {
  const { i32: number } = TYPES;
  const lastColumns = at.columns - ENTRY_BYTES;
  return {
    name: 'find',
    parameters: [number, number],
    result: number,
    locals: [...Array.from({ length: LAST - FROM - 1 }, () => number), TYPES.i64, TYPES.v128],
    body: [
      set(LAST, i64.load(i32.const(at.state))),
      set(TEXT_COLUMN, i32.const(at.columns)),
      set(PLACE, i32.const(at.places)),
      notePlaces(at, blank),
      i64.store(i32.const(at.state), get(LAST)),
      set(PLACES_END, get(PLACE)),
      set(PLACE, i32.const(at.places)),
      set(HIT, i32.const(at.hits)),
      comparePlaces(at),
      v128.store(
        i32.const(lastColumns),
        v128.load(i32.sub(get(TEXT_COLUMN), i32.const(ENTRY_BYTES))),
      ),
      get(HIT),
    ],
  };
}

/** The search for the literals of tables; it owns its memory, so one per thread. */
export class LiteralScan {
  /** characters of the longest literal; 0 if there is none */
  readonly longest: number;
  readonly #at: Layout;
  readonly #memory: Uint8Array;
  readonly #hits: Int32Array;
  readonly #find: (length: number, from: number) => number;

  constructor(tables: EndingTables) {
    const at = layoutOf(tables);
    const code = moduleOf([functionOf(at, tables.blank)], Math.ceil(at.end / PAGE_BYTES));
    const { memory, functions } = instanceOf(code);
    const { find } = functions;
    if (find === undefined) throw new Error('the search is not in its module');
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(tables.columnOf, at.columnOf);
    for (let length = 0; length < ENTRY_BYTES; length += 1) {
      const end = at.masks + (length + 1) * ENTRY_BYTES;
      bytes.fill(0xff, end - length, end);
    }
    const words = new Uint32Array(memory.buffer);
    CLASSES.forEach(({ bucketed, bucketsLog }, number) => {
      const buckets = at.buckets + 4 * (BUCKETS_AT[number] as number);
      const shifts = [64 - COLUMN_BITS * bucketed, 64 - bucketsLog];
      words.set([...shifts, buckets], (at.classes + number * CLASS_BYTES) / 4);
    });
    bytes.set(tables.bitmaps, at.bitmaps);
    words.set(tables.buckets, at.buckets / 4);
    bytes.set(tables.entries, at.entries);
    words.set(tables.literals, at.literals / 4);
    this.longest = tables.longest;
    this.#at = at;
    this.#memory = bytes;
    this.#hits = new Int32Array(memory.buffer, at.hits);
    this.#find = find;
  }

  /**
   * Finds every literal in the bytes from `from` to `until`.
   * @param bytes without letters that equal an ASCII one (`replaceAsciiEquals`)
   */
  find(bytes: Uint8Array, hits: LiteralHits, from = 0, until = bytes.length): void {
    const { state, bytes: chunk, hits: hitsAt } = this.#at;
    this.#memory.fill(0, state, state + STATE_BYTES);
    for (let start = from; start < until; start += CHUNK_BYTES) {
      const end = Math.min(until, start + CHUNK_BYTES);
      this.#memory.set(bytes.subarray(start, end), chunk);
      const hitsEnd = this.#find(end - start, start);
      hits.addAll(this.#hits, (hitsEnd - hitsAt) / 4);
    }
  }
}
