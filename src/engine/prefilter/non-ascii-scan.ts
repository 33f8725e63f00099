/**
 * Owns one pass over the characters beyond ASCII of a text, in WebAssembly: its pages of Unicode, its
 * continuation bytes, and the literals beyond ASCII. ASCII is skipped, sixteen bytes at a time.
 *
 *   character ──► page ──► hashes of the last one to four ──► none of a literal   (nearly always)
 *                                     │
 *                                     ▼
 *                           the literals with this key, compared ──► hits
 */
import { isAscii } from 'node:buffer';
import { BLANK, FOLDED } from './folding.ts';
import type { LiteralHits } from './literal-hits.ts';
import {
  HASHED_MAX,
  HASHES,
  lastByteOf,
  MULTIPLIERS,
  type NonAsciiTables,
  OTHER_SHIFT,
  SHIFT,
} from './non-ascii-literals.ts';
import { PAGE_BITS, PAGES } from './unicode-pages.ts';
import {
  block,
  type Code,
  get,
  i32,
  instanceOf,
  leave,
  leaveIf,
  loop,
  moduleOf,
  set,
  TYPES,
  v128,
  type WasmFunction,
  type WasmInstance,
} from './wasm-code.ts';

const MEMORY_PAGE_BYTES = 65_536;
/** Bytes that one call reads; what it found is taken after each. */
const PIECE_BYTES = 16 * 1024;
/** A character has two bytes or more, and the last one may end behind the piece. */
const CHARACTERS_MAX = PIECE_BYTES / 2 + 1;
/** A place where a literal may be: the offset behind its key, and the key's sum. */
const PLACE_BYTES = 8;
/** Bytes of a vector. */
const VECTOR = 16;
/** Where a text is, its continuation bytes and last characters: kept from one piece to the next. */
const STATE = { at: 0, continuations: 4, skipped: 8, forced: 12, last: 16 } as const;
const STATE_BYTES = STATE.last + 4 * HASHED_MAX;

/** Where things are in the module's memory. */
const AT_STATE = 0;
const AT_HIGH = 32;
const AT_FOLDED = AT_HIGH + VECTOR;
const AT_HASHED = AT_FOLDED + 256;
const AT_PRESENT = AT_HASHED + 2 * HASHES;
const AT_PAGES = AT_PRESENT + PAGES;
const AT_PLACES = AT_PAGES + 4 * (CHARACTERS_MAX + 1);
const AT_TEXT = AT_PLACES + PLACE_BYTES * HASHED_MAX * CHARACTERS_MAX;

/** Parameters and variables of the pass. */
const UNTIL = 0;
const LENGTH = 1;
const AT = 2;
const BYTE = 3;
/** the last characters, newest first */
const LAST = [4, 5, 6, 7] as const;
const SUMS = [8, 9, 10, 11] as const;
/** start of the bytes that were skipped; -1 without any */
const SKIPPED = 12;
/** bytes before this one are not skipped */
const FORCED = 13;
const FOUND = 14;
const PAGE = 15;
const BACK = 16;
const LEFT = 17;
const CONTINUATIONS = 18;
const PLACES_END = 19;
const PAGES_END = 20;
const VARIABLES = PAGES_END - LENGTH;
const [NEWEST] = LAST;

const increase = (local: number, by: number): Code =>
  set(local, i32.add(get(local), i32.const(by)));
const byteAt = (at: Code, offset = 0): Code => i32.load8(at, AT_TEXT + offset);
const isBlankAt = (at: Code, offset = 0): Code =>
  i32.eq(i32.load8(byteAt(at, offset), AT_FOLDED), i32.const(BLANK));
const all = (codes: readonly Code[]): Code => codes.reduce((a, b) => i32.or(a, b));

/** Makes room for the next character among the last ones. */
const shiftLast: Code = LAST.toReversed()
  .slice(0, -1)
  .flatMap((local) => set(local, get(local - 1)));

/** The six bits of the continuation byte at an offset. */
const six = (offset: number, shift: number): Code =>
  i32.shl(i32.and(byteAt(get(AT), offset), i32.const(63)), i32.const(shift));
const lead = (mask: number, shift: number): Code =>
  i32.shl(i32.and(get(BYTE), i32.const(mask)), i32.const(shift));

/** Reads the character of these bytes, and leaves the block around it. */
const decoded = (bytes: number, point: Code): Code => [
  ...set(NEWEST, point),
  ...increase(AT, bytes),
  ...increase(CONTINUATIONS, bytes - 1),
];

const decode: Code = block(
  block(
    block(
      leaveIf(0, i32.geU(get(BYTE), i32.const(0xe0))),
      decoded(2, i32.or(lead(31, 6), six(1, 0))),
      leave(2),
    ),
    leaveIf(0, i32.geU(get(BYTE), i32.const(0xf0))),
    decoded(3, all([lead(15, 12), six(1, 6), six(2, 0)])),
    leave(1),
  ),
  decoded(4, all([lead(7, 18), six(1, 12), six(2, 6), six(3, 0)])),
);

/** Goes back to the third character before the place, but not before what was skipped. */
const goBack: Code = [
  ...set(BACK, get(AT)),
  ...set(LEFT, i32.const(HASHED_MAX - 1)),
  ...block(
    loop(
      leaveIf(1, i32.eqz(get(LEFT))),
      leaveIf(1, i32.eq(get(BACK), get(SKIPPED))),
      increase(BACK, -1),
      // The other blanks of a run.
      block(
        leaveIf(0, i32.eqz(isBlankAt(get(BACK)))),
        loop(
          leaveIf(1, i32.eq(get(BACK), get(SKIPPED))),
          leaveIf(1, i32.eqz(isBlankAt(i32.sub(get(BACK), i32.const(1))))),
          increase(BACK, -1),
          leave(0),
        ),
      ),
      increase(LEFT, -1),
      leave(0),
    ),
  ),
  // The text read before is next to it, or three characters are read again.
  ...block(leaveIf(0, i32.eq(get(BACK), get(SKIPPED))), set(NEWEST, i32.const(0))),
  ...set(FORCED, get(AT)),
  ...set(AT, get(BACK)),
  ...set(SKIPPED, i32.const(-1)),
];

/** The bits that a table has for the sums. */
const bitsAt = (index: (sum: Code) => Code): Code =>
  all(SUMS.map((sum, at) => i32.and(i32.load8(index(get(sum)), AT_HASHED), i32.const(1 << at))));

const sums: Code = SUMS.flatMap((sum, at) => {
  const product = i32.mul(get(LAST[at] as number), i32.const((MULTIPLIERS[at] as number) | 0));
  return set(sum, at === 0 ? product : i32.add(get(sum - 1), product));
});

const notePage: Code = block(
  set(PAGE, i32.shrU(get(NEWEST), i32.const(PAGE_BITS))),
  leaveIf(0, i32.load8(get(PAGE), AT_PRESENT)),
  i32.store8(get(PAGE), i32.const(1), AT_PRESENT),
  i32.store(get(PAGES_END), get(PAGE)),
  increase(PAGES_END, 4),
);

const notePlaces: Code = block(
  set(
    FOUND,
    bitsAt((sum) => i32.shrU(sum, i32.const(SHIFT))),
  ),
  leaveIf(0, i32.eqz(get(FOUND))),
  set(
    FOUND,
    i32.and(
      get(FOUND),
      bitsAt((sum) =>
        i32.add(
          i32.and(i32.shrU(sum, i32.const(OTHER_SHIFT)), i32.const(HASHES - 1)),
          i32.const(HASHES),
        ),
      ),
    ),
  ),
  ...SUMS.map((sum, at) =>
    block(
      leaveIf(0, i32.eqz(i32.and(get(FOUND), i32.const(1 << at)))),
      i32.store(get(PLACES_END), get(AT)),
      i32.store(get(PLACES_END), get(sum), 4),
      increase(PLACES_END, PLACE_BYTES),
    ),
  ),
);

/** Skips sixteen bytes of ASCII, or goes back to read what precedes the next byte. */
const skip: Code = block(
  leaveIf(0, i32.eqz(i32.geU(get(AT), get(FORCED)))),
  leaveIf(0, i32.geU(i32.add(get(AT), i32.const(VECTOR - 1)), get(LENGTH))),
  block(
    leaveIf(0, v128.anyTrue(v128.and(v128.load(get(AT), AT_TEXT), v128.load(i32.const(AT_HIGH))))),
    block(leaveIf(0, i32.eqz(i32.eq(get(SKIPPED), i32.const(-1)))), set(SKIPPED, get(AT))),
    increase(AT, VECTOR),
    leave(2),
  ),
  leaveIf(0, i32.eq(get(SKIPPED), i32.const(-1))),
  goBack,
);

const pass: Code = block(
  loop(
    leaveIf(1, i32.geU(get(AT), get(UNTIL))),
    skip,
    // The rest of a text, behind what was skipped.
    block(leaveIf(0, i32.eq(get(SKIPPED), i32.const(-1))), goBack),
    set(BYTE, byteAt(get(AT))),
    block(
      leaveIf(0, i32.geU(get(BYTE), i32.const(0x80))),
      set(BYTE, i32.load8(get(BYTE), AT_FOLDED)),
      increase(AT, 1),
      // Of a run of blanks the first one counts.
      leaveIf(1, i32.and(i32.eq(get(BYTE), i32.const(BLANK)), i32.eq(get(NEWEST), get(BYTE)))),
      shiftLast,
      set(NEWEST, get(BYTE)),
      leave(1),
    ),
    shiftLast,
    decode,
    notePage,
    sums,
    notePlaces,
    leave(0),
  ),
);

const stateOf = (offset: number): Code => i32.load(i32.const(AT_STATE), offset);
const keep = (offset: number, local: number): Code =>
  i32.store(i32.const(AT_STATE), get(local), offset);
const KEPT: readonly (readonly [number, number])[] = [
  [STATE.at, AT],
  [STATE.continuations, CONTINUATIONS],
  [STATE.skipped, SKIPPED],
  [STATE.forced, FORCED],
  ...LAST.map((local, at) => [STATE.last + 4 * at, local] as const),
];

/** `scan(until, length)`: reads on up to an offset of the text; returns the end of the new pages. */
const SCAN: WasmFunction = {
  name: 'scan',
  parameters: [TYPES.i32, TYPES.i32],
  result: TYPES.i32,
  locals: Array.from({ length: VARIABLES }, () => TYPES.i32),
  body: [
    ...KEPT.map(([offset, local]) => set(local, stateOf(offset))),
    set(PAGES_END, i32.const(AT_PAGES)),
    set(PLACES_END, i32.const(AT_PLACES)),
    pass,
    ...KEPT.map(([offset, local]) => keep(offset, local)),
    i32.store(get(PAGES_END), get(PLACES_END)),
    get(PAGES_END),
  ],
};

/** The pass over texts with the literals of tables; it owns its memory, so one per thread. */
export class NonAsciiScan {
  readonly #tables: NonAsciiTables;
  readonly #memory: WasmInstance['memory'];
  readonly #scan: (until: number, length: number) => number;
  #bytes: Uint8Array;
  #numbers: Int32Array;
  /** the pages of the current text, each once */
  readonly #pages: number[] = [];
  #continuations = 0;

  constructor(tables: NonAsciiTables) {
    const pages = Math.ceil((AT_TEXT + 4 * PIECE_BYTES) / MEMORY_PAGE_BYTES);
    const { memory, functions } = instanceOf(moduleOf([SCAN], pages));
    const { scan } = functions;
    if (scan === undefined) throw new Error('the pass is not in its module');
    this.#tables = tables;
    this.#memory = memory;
    this.#scan = scan;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
    this.#bytes.fill(0x80, AT_HIGH, AT_HIGH + VECTOR);
    this.#bytes.set(FOLDED, AT_FOLDED);
    this.#bytes.set(tables.hashed, AT_HASHED);
  }

  /** The pages that the text has characters of, each once. */
  get pages(): readonly number[] {
    return this.#pages;
  }

  /** Continuation bytes of the text: how many bytes more than characters it has. */
  get continuations(): number {
    return this.#continuations;
  }

  /**
   * Reads a text.
   * @param text UTF-8; for `hits` without letters that equal an ASCII one (`replaceAsciiEquals`)
   * @param hits receives its literals beyond ASCII, unless null
   */
  read(text: Buffer, hits: LiteralHits | null): void {
    for (const page of this.#pages) this.#bytes[AT_PRESENT + page] = 0;
    this.#pages.length = 0;
    this.#continuations = 0;
    if (isAscii(text)) return;
    this.#enter(text);
    const { length } = text;
    for (let until = 0; until < length; ) {
      until = Math.min(length, until + PIECE_BYTES);
      const pagesEnd = this.#scan(until, length) / 4;
      for (let at = AT_PAGES / 4; at < pagesEnd; at += 1) {
        this.#pages.push(this.#numbers[at] as number);
      }
      if (hits !== null) this.#compare(text, this.#numbers[pagesEnd] as number, hits);
      until = this.#numbers[(AT_STATE + STATE.at) / 4] as number;
    }
    this.#continuations = this.#numbers[(AT_STATE + STATE.continuations) / 4] as number;
  }

  #enter(text: Buffer): void {
    // A character that is not complete is read beyond the text's end.
    const missing = AT_TEXT + text.length + VECTOR - this.#bytes.length;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / MEMORY_PAGE_BYTES));
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#numbers = new Int32Array(this.#memory.buffer);
    }
    this.#bytes.fill(0, AT_STATE, AT_STATE + STATE_BYTES);
    this.#numbers[(AT_STATE + STATE.skipped) / 4] = -1;
    this.#bytes.set(text, AT_TEXT);
  }

  /** Compares the literals whose keys may be at the places. */
  #compare(text: Buffer, end: number, hits: LiteralHits): void {
    const numbers = this.#numbers;
    const { buckets, sums, ids, isLetter } = this.#tables;
    const until = end / 4;
    for (let place = AT_PLACES / 4; place < until; place += PLACE_BYTES / 4) {
      const behind = numbers[place] as number;
      const sum = numbers[place + 1] as number;
      const last = buckets[(sum >>> SHIFT) + 1] as number;
      for (let index = buckets[sum >>> SHIFT] as number; index < last; index += 1) {
        if (sums[index] !== sum) continue;
        const lastByte = lastByteOf(this.#tables, index, text, behind);
        if (lastByte === -1) continue;
        if (isLetter[index] === 1) hits.addLetter(ids[index] as number, lastByte);
        else hits.add(ids[index] as number, lastByte);
      }
    }
  }
}
