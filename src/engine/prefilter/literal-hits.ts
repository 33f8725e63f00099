/** Owns the list of the literals that were found in a text, and their positions. */
import { foldedBefore, foldedBehind, isBlank, pastBlanks, type SearchedText } from './folding.ts';
import { doubled } from './int-arrays.ts';

const INITIAL_CAPACITY = 256;
/** Most hits of a literal of one letter; with more of them it counts as being everywhere. */
const LETTER_HITS_MAX = 32;
const NO_TEXT: SearchedText = { bytes: Buffer.alloc(0), origin: null };

/** Facts about literals, by id. Typed arrays, so that threads can share them. */
export interface LiteralShapes {
  /** folded bytes */
  readonly lengths: Uint8Array;
  /** 1 if it has a blank, which may be several bytes of the text */
  readonly hasBlank: Uint8Array;
}

/** @param literals folded, by id, each at most 255 bytes */
export function shapesOf(literals: readonly Buffer[]): LiteralShapes {
  return {
    lengths: Uint8Array.from(literals, (literal) => literal.length),
    hasBlank: Uint8Array.from(literals, (literal) => (literal.includes(' ') ? 1 : 0)),
  };
}

/**
 * The hits of one text in the order of the search and, after `link`, as a linked list per literal.
 * Adding one must be cheap: a text has a hit every dozen bytes, and most are never read. Reused for
 * the next text.
 */
export class LiteralHits {
  /** hit → literal id */
  literalOf = new Int32Array(INITIAL_CAPACITY);
  /** hit → offset of the literal's last byte in the searched bytes; of the first blank of a run */
  lastByte = new Int32Array(INITIAL_CAPACITY);
  /** literal id → first hit, -1 for none; set by `link` */
  readonly first: Int32Array;
  /** hit → the literal's next hit, -1 at the end */
  following = new Int32Array(INITIAL_CAPACITY);
  /** letter's literal id → number of its hits */
  readonly #letterHits: Uint8Array;
  readonly #shapes: LiteralShapes;
  readonly #longest: number;
  readonly #literals: Int32Array;
  #literalCount = 0;
  #count = 0;
  #hasEverywhere = false;
  #text = NO_TEXT;

  constructor(shapes: LiteralShapes) {
    this.#shapes = shapes;
    this.#longest = shapes.lengths.reduce((longest, length) => Math.max(longest, length), 0);
    this.first = new Int32Array(shapes.lengths.length).fill(-1);
    this.#literals = new Int32Array(shapes.lengths.length);
    this.#letterHits = new Uint8Array(shapes.lengths.length);
  }

  get count(): number {
    return this.#count;
  }

  /** The literals that were hit, each once; set by `link`. */
  get literals(): Int32Array {
    return this.#literals.subarray(0, this.#literalCount);
  }

  enter(text: SearchedText): void {
    for (const literal of this.literals) {
      this.first[literal] = -1;
      this.#letterHits[literal] = 0;
    }
    this.#literalCount = 0;
    this.#count = 0;
    this.#hasEverywhere = false;
    this.#text = text;
  }

  /**
   * Adds the hits of another text from `from` to `until`, at offsets shifted by a number of bytes, on
   * the conditions of `add`.
   */
  copy(hits: LiteralHits, from: number, until: number, shift: number): void {
    const first = this.#count;
    const count = first + until - from;
    while (count > this.literalOf.length) this.#grow();
    this.#count = count;
    this.literalOf.set(hits.literalOf.subarray(from, until), first);
    const { lastByte } = this;
    const copied = hits.lastByte;
    for (let hit = from, to = first; hit < until; hit += 1, to += 1) {
      lastByte[to] = (copied[hit] as number) + shift;
    }
  }

  /** @param lastByte not before the last byte of the same literal's previous hit */
  add(literal: number, lastByte: number): void {
    const hit = this.#count;
    if (hit === this.literalOf.length) this.#grow();
    this.#count = hit + 1;
    this.literalOf[hit] = literal;
    this.lastByte[hit] = lastByte;
  }

  /**
   * Adds a hit of a literal of one letter, on the conditions of `add`. Of a frequent one, as every
   * second letter of Russian, the first hits are kept.
   */
  addLetter(literal: number, lastByte: number): void {
    const hits = this.#letterHits[literal] as number;
    if (hits > LETTER_HITS_MAX) return;
    this.#letterHits[literal] = hits + 1;
    if (hits < LETTER_HITS_MAX) this.add(literal, lastByte);
    else this.#hasEverywhere = true;
  }

  /** Checks whether any literal may be anywhere. */
  get hasEverywhere(): boolean {
    return this.#hasEverywhere;
  }

  /** Checks whether the literal has more hits than were kept: it may be anywhere. */
  isEverywhere(literal: number): boolean {
    return (this.#letterHits[literal] as number) > LETTER_HITS_MAX;
  }

  /**
   * Adds many, on the conditions of `add`.
   * @param found pairs of a literal and its last byte
   * @param length numbers of it that count
   */
  addAll(found: Int32Array, length: number): void {
    const first = this.#count;
    const count = first + length / 2;
    while (count > this.literalOf.length) this.#grow();
    this.#count = count;
    const { literalOf, lastByte } = this;
    for (let at = 0, hit = first; at < length; at += 2, hit += 1) {
      literalOf[hit] = found[at] as number;
      lastByte[hit] = found[at + 1] as number;
    }
  }

  /** Makes the linked lists. Call once, after all hits were added. */
  link(): void {
    const { first, following, literalOf } = this;
    const literals = this.#literals;
    let count = 0;
    for (let hit = this.#count - 1; hit >= 0; hit -= 1) {
      const literal = literalOf[hit] as number;
      const next = first[literal] as number;
      if (next === -1) {
        literals[count] = literal;
        count += 1;
      }
      following[hit] = next;
      first[literal] = hit;
    }
    this.#literalCount = count;
  }

  startOf(hit: number): number {
    const { bytes, origin } = this.#text;
    const literal = this.literalOf[hit] as number;
    const length = this.#shapes.lengths[literal] as number;
    const behind = (this.lastByte[hit] as number) + 1;
    const hasBlank = this.#shapes.hasBlank[literal] === 1;
    const start = hasBlank ? foldedBefore(bytes, behind, length) : behind - length;
    return origin === null ? start : (origin[start] as number);
  }

  /** The offset in the text at which the hit ends, past all blanks of a run at its end. */
  endOf(hit: number): number {
    const { bytes, origin } = this.#text;
    const end = pastBlanks(bytes, (this.lastByte[hit] as number) + 1);
    return origin === null ? end : (origin[end] as number);
  }

  /**
   * The first hit from `from` on that ends (`endOf`) past an offset; `until` if none does. For hits in
   * the order of their last bytes, in a text without `origin`.
   */
  firstEndingPast(offset: number, from: number, until: number): number {
    const { bytes } = this.#text;
    let least = offset;
    // A literal that ends in a run of blanks ends with the run.
    if (isBlank(bytes[offset])) while (isBlank(bytes[least - 1])) least -= 1;
    let hit = from;
    while (hit < until && (this.lastByte[hit] as number) < least) hit += 1;
    return hit;
  }

  /**
   * A hit from `from` on from which on all begin at an offset or past it. On the same conditions.
   */
  firstBeginningPast(offset: number, from: number, until: number): number {
    // One more, because the offset may be within a run of blanks.
    const least = foldedBehind(this.#text.bytes, offset, this.#longest + 1);
    let hit = from;
    while (hit < until && (this.lastByte[hit] as number) < least) hit += 1;
    return hit;
  }

  #grow(): void {
    this.literalOf = doubled(this.literalOf);
    this.lastByte = doubled(this.lastByte);
    this.following = doubled(this.following);
  }
}
