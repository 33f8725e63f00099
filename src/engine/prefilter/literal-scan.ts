/** Searches a text for ASCII literals, in WebAssembly (`assembly/ascii.ts`). */
import { type Global, type Memory, programOf, startProgram } from '../../web-assembly/programs.ts';
import type { EndingTables } from './literal-endings.ts';
import type { LiteralHits } from './literal-hits.ts';

interface Exports {
  readonly memory: Memory;
  readonly CHUNK_BYTES: Global;
  readonly COLUMNS_AT: Global;
  readonly BITMAPS_AT: Global;
  readonly BUCKETS_AT: Global;
  readonly CHUNK_AT: Global;
  readonly reserve: (blank: number, entries: number, alike: number) => number;
  readonly entriesAt: () => number;
  readonly literalsAt: () => number;
  readonly hitsAt: () => number;
  readonly begin: () => void;
  readonly find: (length: number, from: number) => number;
}

/** The search for the literals of tables; it owns its memory, so one per thread. */
export class LiteralScan {
  /** characters of the longest literal; 0 if there is none */
  readonly longest: number;
  readonly #program = startProgram<Exports>(programOf('ascii-literals.wasm'));
  readonly #chunk: Uint8Array;
  readonly #hits: Int32Array;

  constructor({
    columnOf,
    blank,
    longest,
    bitmaps,
    buckets,
    entries,
    literals,
    alike,
  }: EndingTables) {
    const program = this.#program;
    if (program.reserve(blank, literals.length, alike) === 0) {
      throw new Error('no memory for the search for literals');
    }
    const { buffer } = program.memory;
    const bytes = new Uint8Array(buffer);
    const numbers = new Uint32Array(buffer);
    bytes.set(columnOf, program.COLUMNS_AT.value);
    bytes.set(bitmaps, program.BITMAPS_AT.value);
    numbers.set(buckets, program.BUCKETS_AT.value / 4);
    bytes.set(entries, program.entriesAt());
    numbers.set(literals, program.literalsAt() / 4);
    this.longest = longest;
    this.#chunk = new Uint8Array(buffer, program.CHUNK_AT.value, program.CHUNK_BYTES.value);
    this.#hits = new Int32Array(buffer, program.hitsAt());
  }

  /**
   * Finds every literal in the bytes from `from` to `until`.
   * @param bytes without letters that equal an ASCII one (`replaceAsciiEquals`)
   */
  find(bytes: Uint8Array, hits: LiteralHits, from = 0, until = bytes.length): void {
    const chunk = this.#chunk;
    this.#program.begin();
    for (let start = from; start < until; start += chunk.length) {
      const end = Math.min(until, start + chunk.length);
      chunk.set(bytes.subarray(start, end));
      const hitsEnd = this.#program.find(end - start, start);
      hits.addAll(this.#hits, (hitsEnd - this.#hits.byteOffset) / 4);
    }
  }
}
