/**
 * Owns the sets of literals that branches require, and the positions of each set in a text. Many
 * branches share a set, so its positions are collected and sorted once.
 */

import { doubled, startsOf } from './int-arrays.ts';
import type { LiteralHits } from './literal-hits.ts';

const NONE = new Int32Array(0);
const INITIAL_CAPACITY = 256;

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

/** The sets that a literal is in. Typed arrays, so that threads can share them. */
export interface SetsOfLiterals {
  readonly count: number;
  /** literal → index in `sets` of its first set; they end at the next literal's */
  readonly setsAt: Int32Array;
  readonly sets: Int32Array;
}

/**
 * @param sets literal ids of each set, each once
 * @param literals number of literals
 */
export function setsOfLiterals(sets: readonly Int32Array[], literals: number): SetsOfLiterals {
  const setsOf: number[][] = Array.from({ length: literals }, () => []);
  sets.forEach((ids, set) => {
    for (const literal of ids) setsOf[literal]?.push(set);
  });
  return { count: sets.length, setsAt: startsOf(setsOf), sets: Int32Array.from(setsOf.flat()) };
}

/** The sets of a text and their positions; reused for the next text. */
export class SetPositions {
  readonly #setsAt: Int32Array;
  readonly #sets: Int32Array;
  /** set → the last link of its list of literals that were hit, -1 if none was */
  readonly #lastLink: Int32Array;
  /** link → the literal; the link before it, -1 at the end */
  #literalOf = new Int32Array(INITIAL_CAPACITY);
  #before = new Int32Array(INITIAL_CAPACITY);
  readonly #present: Int32Array;
  #presentCount = 0;
  /** set → its positions in the current text, if they were collected */
  readonly #positions: (Int32Array | null)[];
  #hits: LiteralHits | null = null;
  #buffer = new Int32Array(INITIAL_CAPACITY);

  constructor({ count, setsAt, sets }: SetsOfLiterals) {
    this.#setsAt = setsAt;
    this.#sets = sets;
    this.#lastLink = new Int32Array(count).fill(-1);
    this.#present = new Int32Array(count);
    this.#positions = Array.from({ length: count }, () => null);
  }

  /** The sets that have a literal in the current text, each once. */
  get present(): Int32Array {
    return this.#present.subarray(0, this.#presentCount);
  }

  enter(hits: LiteralHits): void {
    for (const set of this.present) {
      this.#lastLink[set] = -1;
      this.#positions[set] = null;
    }
    this.#hits = hits;
    hits.link();
    const { literals } = hits;
    const setsAt = this.#setsAt;
    const sets = this.#sets;
    const lastLink = this.#lastLink;
    const present = this.#present;
    let presentCount = 0;
    let links = 0;
    for (let index = 0; index < literals.length; index += 1) {
      const literal = literals[index] as number;
      const from = setsAt[literal] as number;
      const end = setsAt[literal + 1] as number;
      while (links + end - from > this.#literalOf.length) this.#grow();
      const literalOf = this.#literalOf;
      const linkBefore = this.#before;
      for (let at = from; at < end; at += 1) {
        const set = sets[at] as number;
        const before = lastLink[set] as number;
        if (before === -1) {
          present[presentCount] = set;
          presentCount += 1;
        }
        literalOf[links] = literal;
        linkBefore[links] = before;
        lastLink[set] = links;
        links += 1;
      }
    }
    this.#presentCount = presentCount;
  }

  has(set: number): boolean {
    return this.#lastLink[set] !== -1;
  }

  /** True if a literal of the set is everywhere: not all of its positions are known. */
  isEverywhere(set: number): boolean {
    const hits = this.#hits;
    if (hits === null || !hits.hasEverywhere) return false;
    for (
      let link = this.#lastLink[set] as number;
      link !== -1;
      link = this.#before[link] as number
    ) {
      if (hits.isEverywhere(this.#literalOf[link] as number)) return true;
    }
    return false;
  }

  /** The positions at which literals of a set begin, in order. */
  of(set: number): Int32Array {
    const known = this.#positions[set] ?? null;
    if (known !== null) return known;
    const last = this.#lastLink[set] as number;
    // Only sets that are present are cached, because `enter` clears only these.
    if (last === -1 || this.#hits === null) return NONE;
    const positions = this.#collect(last, this.#hits);
    this.#positions[set] = positions;
    return positions;
  }

  #collect(last: number, hits: LiteralHits): Int32Array {
    const { first, following } = hits;
    if (this.#before[last] === -1) {
      const only = first[this.#literalOf[last] as number] as number;
      if (following[only] === -1) return Int32Array.of(hits.startOf(only));
    }
    let found = this.#buffer;
    let count = 0;
    for (let link = last; link !== -1; link = this.#before[link] as number) {
      let hit = first[this.#literalOf[link] as number] as number;
      for (; hit !== -1; hit = following[hit] as number) {
        if (count === found.length) {
          found = doubled(found);
          this.#buffer = found;
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
