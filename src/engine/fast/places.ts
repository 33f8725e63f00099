/**
 * Owns the sets of literals that patterns look for, and where each set stands in a text. Many branches
 * look for the same set: it is kept, and its places are put in order, once.
 */
import type { Hits } from './hits.ts';

const NONE = new Int32Array(0);

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

/** Which sets a text has, and where. Used again and again. */
export class Places {
  readonly #sets: readonly Int32Array[];
  #hits: Hits;
  /** set → the last text it was looked for in */
  readonly #looked: Int32Array;
  /** set → was it there? */
  readonly #isThere: Uint8Array;
  /** set → the last text its places were told of */
  readonly #told: Int32Array;
  readonly #places: Int32Array[];
  #text = 0;

  /**
   * @param sets literal ids of each set
   * @param hits those of the text at hand
   */
  constructor(sets: readonly Int32Array[], hits: Hits) {
    this.#sets = sets;
    this.#hits = hits;
    this.#looked = new Int32Array(sets.length);
    this.#isThere = new Uint8Array(sets.length);
    this.#told = new Int32Array(sets.length);
    this.#places = sets.map(() => NONE);
  }

  /** Goes on to the text whose hits these are, all noted by now; to be called for each. */
  next(hits: Hits): void {
    this.#hits = hits;
    this.#text += 1;
  }

  /** Does a literal of the set stand anywhere? */
  has(set: number): boolean {
    if (this.#looked[set] !== this.#text) {
      this.#looked[set] = this.#text;
      this.#isThere[set] = this.#look(this.#sets[set] ?? NONE) ? 1 : 0;
    }
    return this.#isThere[set] === 1;
  }

  #look(literals: Int32Array): boolean {
    const { first } = this.#hits;
    for (let at = 0; at < literals.length; at += 1) {
      if ((first[literals[at] as number] as number) !== -1) return true;
    }
    return false;
  }

  /** Where the literals of a set begin, in order. */
  of(set: number): Int32Array {
    if (this.#told[set] !== this.#text) {
      this.#told[set] = this.#text;
      this.#places[set] = this.#collect(this.#sets[set] ?? NONE);
    }
    return this.#places[set] as Int32Array;
  }

  #collect(literals: Int32Array): Int32Array {
    const { first, following, places } = this.#hits;
    const found: number[] = [];
    let sources = 0;
    for (let at = 0; at < literals.length; at += 1) {
      let hit = first[literals[at] as number] as number;
      if (hit !== -1) sources += 1;
      for (; hit !== -1; hit = following[hit] as number) found.push(places[hit] as number);
    }
    const all = Int32Array.from(found);
    if (sources > 1) all.sort();
    return all;
  }
}
