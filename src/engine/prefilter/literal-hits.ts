/** Owns where literals stand in a text, as they are found. */
import { foldedBefore, pastBlanks, type Walked } from './folding.ts';
import { doubled } from './int-arrays.ts';

/** Room for hits; it doubles when it is used up. */
const HITS_AT_FIRST = 256;
const NOTHING: Walked = { bytes: Buffer.alloc(0), origin: null };

/** What is known of literals, by id. Tables only: may be shared between threads. */
export interface Shapes {
  /** folded bytes */
  readonly lengths: Uint8Array;
  /** 1 when one of them is a blank: it may stand for many */
  readonly hasBlank: Uint8Array;
}

/** @param literals folded, by id, each at most 255 bytes */
export function shapesOf(literals: readonly Buffer[]): Shapes {
  return {
    lengths: Uint8Array.from(literals, (literal) => literal.length),
    hasBlank: Uint8Array.from(literals, (literal) => (literal.includes(' ') ? 1 : 0)),
  };
}

/**
 * The hits of one text, in the order they came, and when they are `link`ed per literal as chains. To
 * note one must cost little: a text has one every dozen bytes, and of most nothing else is asked.
 * Used again and again.
 */
export class Hits {
  /** hit → literal id */
  literalOf = new Int32Array(HITS_AT_FIRST);
  /** hit → offset of the literal's last byte in the text as it is walked over; of the first blank of a run */
  lastByte = new Int32Array(HITS_AT_FIRST);
  /** literal id → first hit, -1 for none */
  readonly first: Int32Array;
  /** hit → the literal's next hit, -1 at the end */
  following = new Int32Array(HITS_AT_FIRST);
  readonly #shapes: Shapes;
  /** the literals that were hit, each once */
  readonly #literals: Int32Array;
  #literalCount = 0;
  #count = 0;
  #text = NOTHING;

  constructor(shapes: Shapes) {
    this.#shapes = shapes;
    this.first = new Int32Array(shapes.lengths.length).fill(-1);
    this.#literals = new Int32Array(shapes.lengths.length);
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** The literals that were hit, each once, when they are linked. */
  get literals(): Int32Array {
    return this.#literals.subarray(0, this.#literalCount);
  }

  /** Goes on to the next text. */
  enter(text: Walked): void {
    for (const literal of this.literals) this.first[literal] = -1;
    this.#literalCount = 0;
    this.#count = 0;
    this.#text = text;
  }

  /** @param lastByte not before that of the same literal's last hit */
  add(literal: number, lastByte: number): void {
    const hit = this.#count;
    if (hit === this.literalOf.length) this.#grow();
    this.#count = hit + 1;
    this.literalOf[hit] = literal;
    this.lastByte[hit] = lastByte;
  }

  /** Makes the chains; to be called once, when all hits are there. */
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

  /** Where in the text the literal begins. */
  startOf(hit: number): number {
    const { bytes, origin } = this.#text;
    const literal = this.literalOf[hit] as number;
    const length = this.#shapes.lengths[literal] as number;
    const behind = (this.lastByte[hit] as number) + 1;
    const hasBlank = this.#shapes.hasBlank[literal] === 1;
    const start = hasBlank ? foldedBefore(bytes, behind, length) : behind - length;
    return origin === null ? start : (origin[start] as number);
  }

  /** Where what stands there ends in the text, past all blanks of a run that it ends with. */
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
