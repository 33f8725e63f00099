/**
 * Reads the characters beyond ASCII of a text, in WebAssembly (`assembly/non-ascii.ts`): its pages of Unicode, its
 * continuation bytes, and the literals beyond ASCII.
 *
 *   character ──► page ──► hashes of the last one to four ──► none of a literal   (nearly always)
 *                                     │
 *                                     ▼
 *                           the literals with this key, compared ──► hits
 */
import { isAscii } from 'node:buffer';
import { type Global, type Memory, programOf, startProgram } from '../../web-assembly/programs.ts';
import { SHIFT } from './assembly/codes.ts';
import { FOLDED } from './folding.ts';
import type { LiteralHits } from './literal-hits.ts';
import { lastByteOf, type NonAsciiTables } from './non-ascii-literals.ts';

interface Exports {
  readonly memory: Memory;
  readonly FOLDED_AT: Global;
  readonly HASHED_AT: Global;
  readonly PAGES_AT: Global;
  readonly PLACES_AT: Global;
  readonly begin: (length: number) => number;
  readonly scan: () => number;
  readonly pages: () => number;
  readonly placesEnd: () => number;
  readonly continuations: () => number;
}

const NO_PAGES = new Int32Array(0);
/** Integers of a place: the offset behind a key, and its sum. */
const PLACE = 2;

/** The pass over texts with the literals of tables; it owns its memory, so one per thread. */
export class NonAsciiScan {
  readonly #tables: NonAsciiTables;
  readonly #program = startProgram<Exports>(programOf('non-ascii-literals.wasm'));
  #bytes: Uint8Array;
  #numbers: Int32Array;
  #pages: Int32Array = NO_PAGES;
  #continuations = 0;

  constructor(tables: NonAsciiTables) {
    const { memory, FOLDED_AT, HASHED_AT } = this.#program;
    this.#tables = tables;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#numbers = new Int32Array(memory.buffer);
    this.#bytes.set(FOLDED, FOLDED_AT.value);
    this.#bytes.set(tables.hashed, HASHED_AT.value);
  }

  /** The pages that the text has characters of, each once; until the next text. */
  get pages(): Int32Array {
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
    this.#pages = NO_PAGES;
    this.#continuations = 0;
    if (isAscii(text)) return;
    const program = this.#program;
    const at = program.begin(text.length);
    if (at === 0) throw new Error('no memory for the characters of a text');
    const { buffer } = program.memory;
    if (this.#bytes.buffer !== buffer) {
      this.#bytes = new Uint8Array(buffer);
      this.#numbers = new Int32Array(buffer);
    }
    this.#bytes.set(text, at);
    for (let more = 1; more !== 0; ) {
      more = program.scan();
      if (hits !== null) this.#compare(text, program.placesEnd() / 4, hits);
    }
    const pagesAt = program.PAGES_AT.value / 4;
    this.#pages = this.#numbers.subarray(pagesAt, pagesAt + program.pages());
    this.#continuations = program.continuations();
  }

  /** Compares the literals whose keys may be at the places. */
  #compare(text: Buffer, placesEnd: number, hits: LiteralHits): void {
    const numbers = this.#numbers;
    const { buckets, sums, ids, isLetter } = this.#tables;
    for (let place = this.#program.PLACES_AT.value / 4; place < placesEnd; place += PLACE) {
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
