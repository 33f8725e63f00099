/** Owns the list of the literals that were found in a text, and their positions. */
import { foldedBefore, pastBlanks, type SearchedText } from './folding.ts';
import { doubled } from './int-arrays.ts';

/** Initial capacity; it doubles when it is full. */
const INITIAL_CAPACITY = 256;
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
  readonly #shapes: LiteralShapes;
  /** the literals that were hit, each once */
  readonly #literals: Int32Array;
  #literalCount = 0;
  #count = 0;
  #text = NO_TEXT;

  constructor(shapes: LiteralShapes) {
    this.#shapes = shapes;
    this.first = new Int32Array(shapes.lengths.length).fill(-1);
    this.#literals = new Int32Array(shapes.lengths.length);
  }

  get count(): number {
    return this.#count;
  }

  /** The literals that were hit, each once; set by `link`. */
  get literals(): Int32Array {
    return this.#literals.subarray(0, this.#literalCount);
  }

  /** Sets the next text. */
  enter(text: SearchedText): void {
    for (const literal of this.literals) this.first[literal] = -1;
    this.#literalCount = 0;
    this.#count = 0;
    this.#text = text;
  }

  /** @param lastByte not before that of the same literal's previous hit */
  add(literal: number, lastByte: number): void {
    const hit = this.#count;
    if (hit === this.literalOf.length) this.#grow();
    this.#count = hit + 1;
    this.literalOf[hit] = literal;
    this.lastByte[hit] = lastByte;
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
    for (let hit = this.#count - 1; hit >= 0; hit -= 1) {
      const literal = literalOf[hit] as number;
      const next = first[literal] as number;
      if (next === -1) {
        this.#literals[this.#literalCount] = literal;
        this.#literalCount += 1;
      }
      following[hit] = next;
      first[literal] = hit;
    }
  }

  /** The offset in the text at which the hit begins. */
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

  #grow(): void {
    this.literalOf = doubled(this.literalOf);
    this.lastByte = doubled(this.lastByte);
    this.following = doubled(this.following);
  }
}
