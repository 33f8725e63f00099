/**
 * Owns the tables of the literals beyond ASCII, by their last characters:
 *
 *   the last one to four characters ──► a sum ──► two hashes: does a literal have them?
 *                                                   │ one place in some hundred
 *                                                   ▼
 *                                                 the literals with this sum, compared byte by byte
 */
import { isAscii } from 'node:buffer';
import * as codes from './assembly/codes.ts';
import { FOLDED, isBlank } from './folding.ts';
import { startsOf } from './int-arrays.ts';

const MULTIPLIERS = [
  codes.MULTIPLIER_0,
  codes.MULTIPLIER_1,
  codes.MULTIPLIER_2,
  codes.MULTIPLIER_3,
] as const;

/** Typed arrays, so that threads can share them. */
export interface NonAsciiTables {
  /** hash → bit n - 1, if some literal's key has n characters and this hash; from `codes.HASHES` on by the other */
  readonly hashed: Uint8Array;
  /** hash → index of its first literal in the tables below; they end at the next hash's */
  readonly buckets: Int32Array;
  /** the sum of the literal's key */
  readonly sums: Int32Array;
  readonly ids: Int32Array;
  /** 1 if it is one character */
  readonly isLetter: Uint8Array;
  /** where its bytes begin, where its key ends, where they end */
  readonly starts: Int32Array;
  readonly keyEnds: Int32Array;
  readonly ends: Int32Array;
  readonly bytes: Uint8Array;
}

interface Keyed {
  readonly id: number;
  readonly literal: Buffer;
  readonly characters: number;
  readonly sum: number;
  /** bytes up to the key's end */
  readonly keyBytes: number;
}

/** @param literals folded, by id; those that are all ASCII are ignored */
export function createNonAsciiTables(literals: readonly Buffer[]): NonAsciiTables {
  const hashed = new Uint8Array(2 * codes.HASHES);
  const buckets: Keyed[][] = Array.from({ length: codes.HASHES }, () => []);
  literals.forEach((literal, id) => {
    if (isAscii(literal)) return;
    const { key, ...keyed } = keyedOf(literal, id);
    const { sum } = keyed;
    const bit = 1 << (key.length - 1);
    const other = codes.HASHES + ((sum >>> codes.OTHER_SHIFT) & (codes.HASHES - 1));
    for (const hash of [sum >>> codes.SHIFT, other]) hashed[hash] = (hashed[hash] ?? 0) | bit;
    buckets[sum >>> codes.SHIFT]?.push(keyed);
  });
  const all = buckets.flat();
  let starts = 0;
  const startOf = all.map(({ literal }) => {
    starts += literal.length;
    return starts - literal.length;
  });
  return {
    hashed,
    buckets: startsOf(buckets.map((bucket) => bucket.map(({ id }) => id))),
    sums: Int32Array.from(all, ({ sum }) => sum),
    ids: Int32Array.from(all, ({ id }) => id),
    isLetter: Uint8Array.from(all, ({ characters }) => (characters === 1 ? 1 : 0)),
    starts: Int32Array.from(startOf),
    keyEnds: Int32Array.from(all, ({ keyBytes }, at) => (startOf[at] ?? 0) + keyBytes),
    ends: Int32Array.from(all, ({ literal }, at) => (startOf[at] ?? 0) + literal.length),
    bytes: new Uint8Array(Buffer.concat(all.map(({ literal }) => literal))),
  };
}

function keyedOf(literal: Buffer, id: number): Keyed & { readonly key: readonly number[] } {
  const characters = [...literal.toString()];
  const points = characters.map((one) => one.codePointAt(0) ?? 0);
  const end = points.findLastIndex((point) => point >= 0x80) + 1;
  const key = points.slice(Math.max(0, end - codes.HASHED_MAX), end).reverse();
  const products = key.map((point, at) => Math.imul(point, MULTIPLIERS[at] ?? 0));
  return {
    id,
    literal,
    characters: points.length,
    key,
    sum: products.reduce((sum, product) => (sum + product) | 0, 0),
    keyBytes: Buffer.byteLength(characters.slice(0, end).join('')),
  };
}

/**
 * Returns where a literal's last byte is in a text whose key may be there; -1 if the text has another.
 * Of a run of blanks at its end, the first.
 * @param index in the tables
 * @param behind offset in the text behind the key
 */
export function lastByteOf(
  { starts, keyEnds, ends, bytes }: NonAsciiTables,
  index: number,
  text: Uint8Array,
  behind: number,
): number {
  const start = starts[index] as number;
  const keyEnd = keyEnds[index] as number;
  let at = behind;
  for (let own = keyEnd - 1; own >= start; own -= 1) {
    at -= 1;
    if (at < 0 || FOLDED[text[at] as number] !== bytes[own]) return -1;
    if (bytes[own] === codes.BLANK) while (isBlank(text[at - 1])) at -= 1;
  }
  at = behind - 1;
  const end = ends[index] as number;
  for (let own = keyEnd; own < end; own += 1) {
    if (own > keyEnd && bytes[own - 1] === codes.BLANK) while (isBlank(text[at + 1])) at += 1;
    at += 1;
    if (at >= text.length || FOLDED[text[at] as number] !== bytes[own]) return -1;
  }
  return at;
}
