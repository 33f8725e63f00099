/**
 * Owns the sets of literals that patterns look for, and where each set stands in a text. Many branches
 * look for the same set: it is kept, and its places are put in order, once.
 */

import { doubled, startsOf } from './int-arrays.ts';
import type { Hits } from './literal-hits.ts';

const NONE = new Int32Array(0);
/** Room for what sets are there by; it doubles when it is used up. */
const SOURCES_AT_FIRST = 256;

/** Collects sets; the same literals make the same set. */
export class SetTable {
  /** set → its literals' ids */
  readonly sets: Int32Array[] = [];
  readonly #ids = new Map<string, number>();

  idOf(literals: Int32Array): number {
    const key = literals.join();
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.sets.length;
    this.sets.push(literals);
    this.#ids.set(key, id);
    return id;
  }
}

/** Which sets a literal is in. Tables only: may be shared between threads. */
export interface SetsOfLiterals {
  readonly count: number;
  /** literal → where the sets that have it begin in `sets`; they end where those of the next begin */
  readonly setsAt: Int32Array;
  readonly sets: Int32Array;
}

/**
 * @param sets literal ids of each set, each once
 * @param literals how many there are
 */
export function setsOfLiterals(sets: readonly Int32Array[], literals: number): SetsOfLiterals {
  const setsOf: number[][] = Array.from({ length: literals }, () => []);
  sets.forEach((ids, set) => {
    for (const literal of ids) setsOf[literal]?.push(set);
  });
  return { count: sets.length, setsAt: startsOf(setsOf), sets: Int32Array.from(setsOf.flat()) };
}

/** Which sets a text has, and where. Used again and again. */
export class Places {
  readonly #setsAt: Int32Array;
  readonly #sets: Int32Array;
  /** set → its last source, -1 when it is not there */
  readonly #source: Int32Array;
  /** source → the literal that was hit; the set's source before it, -1 at the end */
  #literalOf = new Int32Array(SOURCES_AT_FIRST);
  #before = new Int32Array(SOURCES_AT_FIRST);
  readonly #present: Int32Array;
  #presentCount = 0;
  /** set → where it stands, when that was asked for in the text at hand */
  readonly #places: (Int32Array | null)[];
  #hits: Hits | null = null;
  /** places of the set at hand, not yet in order */
  #found = new Int32Array(SOURCES_AT_FIRST);

  constructor({ count, setsAt, sets }: SetsOfLiterals) {
    this.#setsAt = setsAt;
    this.#sets = sets;
    this.#source = new Int32Array(count).fill(-1);
    this.#present = new Int32Array(count);
    this.#places = Array.from({ length: count }, () => null);
  }

  /** The sets of which a literal stands somewhere in the text at hand, each once. */
  get present(): Int32Array {
    return this.#present.subarray(0, this.#presentCount);
  }

  /** Goes on to the text whose hits these are, all noted by now. */
  enter(hits: Hits): void {
    for (const set of this.present) {
      this.#source[set] = -1;
      this.#places[set] = null;
    }
    this.#presentCount = 0;
    this.#hits = hits;
    hits.link();
    let sources = 0;
    for (const literal of hits.literals) {
      const end = this.#setsAt[literal + 1] as number;
      for (let at = this.#setsAt[literal] as number; at < end; at += 1) {
        const set = this.#sets[at] as number;
        const before = this.#source[set] as number;
        if (before === -1) {
          this.#present[this.#presentCount] = set;
          this.#presentCount += 1;
        }
        if (sources === this.#literalOf.length) this.#grow();
        this.#literalOf[sources] = literal;
        this.#before[sources] = before;
        this.#source[set] = sources;
        sources += 1;
      }
    }
  }

  /** Does a literal of the set stand anywhere? */
  has(set: number): boolean {
    return this.#source[set] !== -1;
  }

  /** Where the literals of a set begin, in order. */
  of(set: number): Int32Array {
    const known = this.#places[set] ?? null;
    if (known !== null) return known;
    const last = this.#source[set] as number;
    // Kept of sets only that are there: those are forgotten with the text.
    if (last === -1 || this.#hits === null) return NONE;
    const places = this.#collect(last, this.#hits);
    this.#places[set] = places;
    return places;
  }

  #collect(last: number, hits: Hits): Int32Array {
    const { first, following } = hits;
    let found = this.#found;
    let count = 0;
    for (let source = last; source !== -1; source = this.#before[source] as number) {
      let hit = first[this.#literalOf[source] as number] as number;
      for (; hit !== -1; hit = following[hit] as number) {
        if (count === found.length) {
          found = doubled(found);
          this.#found = found;
        }
        found[count] = hits.startOf(hit);
        count += 1;
      }
    }
    const all = found.slice(0, count);
    if (count > 1 && this.#before[last] !== -1) all.sort();
    return all;
  }

  #grow(): void {
    this.#literalOf = doubled(this.#literalOf);
    this.#before = doubled(this.#before);
  }
}
