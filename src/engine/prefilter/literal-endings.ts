/**
 * Owns the tables by which ASCII literals are found: for every literal, its last characters. Most places
 * of a text end none of them, which a bitmap of hashed endings says; the few others are compared
 * with the literals that have this ending.
 *
 *   length of a literal   its ending          bitmap
 *   10 and more           10 characters       hashed
 *   6 to 9                6                   hashed
 *   4, 5                  4                   hashed
 *   1 to 3                3, what is missing  exact
 *                         being any character
 *
 * Characters are columns of 6 bits, so that an ending of ten is one number of 64 bits.
 */
import { isAscii } from 'node:buffer';
import * as codes from './assembly/codes.ts';
import { FOLDED } from './folding.ts';

/** Typed arrays, so that threads can share them. */
export interface EndingTables {
  /** byte of an unfolded text → column of the folded byte, 0 if it is in no literal */
  readonly columnOf: Uint8Array;
  /** column of blanks; repeated blanks are one */
  readonly blank: number;
  /** characters of the longest literal; 0 if there is none */
  readonly longest: number;
  /** the bitmaps of all classes, one after the other */
  readonly bitmaps: Uint8Array;
  /** bucket → its first entry; they end at the next bucket's; those of all classes, one after the other */
  readonly buckets: Uint32Array;
  /** entry → columns of the literal, at the end of `ENTRY_BYTES`; the first byte is their number */
  readonly entries: Uint8Array;
  /** entry → literal */
  readonly literals: Uint32Array;
  /** maximum literals that share one comparison; 1 except for unusual patterns */
  readonly alike: number;
}

/** Bytes with a separate column; other bytes of literals share the last column. */
const COLUMNS = 1 << codes.COLUMN_BITS;

interface EndingClass {
  /** literals of at least so many characters, and fewer than the class before */
  readonly least: number;
  readonly ending: number;
  /** binary logarithm of the number of bits; the ending itself is the index where it has as many bits */
  readonly bitsLog: number;
  readonly bucketed: number;
  readonly bucketsLog: number;
}

const whole = (ending: number, bitsLog: number, bucketsLog: number): EndingClass => {
  return { least: ending, ending, bitsLog, bucketed: ending, bucketsLog };
};

const CLASSES: readonly EndingClass[] = [
  whole(codes.ENDING_0, codes.BITS_0, codes.BUCKETS_0),
  whole(codes.ENDING_1, codes.BITS_1, codes.BUCKETS_1),
  whole(codes.ENDING_2, codes.BITS_2, codes.BUCKETS_2),
  {
    ...whole(codes.ENDING_3, codes.BITS_3, codes.BUCKETS_3),
    least: 1,
    bucketed: codes.BUCKETED_3,
  },
];

function starts(sizes: readonly number[]): number[] {
  let sum = 0;
  return sizes.map((size) => {
    sum += size;
    return sum - size;
  });
}

/** One more than its buckets: where the last one ends. */
function bucketsOfClass({ bucketsLog }: EndingClass): number {
  return 2 ** bucketsLog + 1;
}

const bitmapBytes = ({ bitsLog }: EndingClass): number => 2 ** bitsLog / 8;
/** class → where its bitmap begins, in bytes */
const BITMAPS_AT = starts(CLASSES.map(bitmapBytes));
const BITMAPS_BYTES = CLASSES.reduce((sum, one) => sum + bitmapBytes(one), 0);
/** class → index in `buckets` of its first one; each class has one more, where its last one ends */
const BUCKETS_AT = starts(CLASSES.map(bucketsOfClass));
const BUCKETS = CLASSES.reduce((sum, one) => sum + bucketsOfClass(one), 0);

/** Odd: the golden ratio of 64 bits (Knuth: The art of computer programming 3, 6.4). */
const MULTIPLIER = 0x9e37_79b9_7f4a_7c15n;

function hashOf(key: bigint, bits: number): number {
  return Number(BigInt.asUintN(64, key * MULTIPLIER) >> BigInt(64 - bits));
}

/** Checks whether the key itself is the index in the bitmap. */
const isExact = ({ ending, bitsLog }: EndingClass): boolean =>
  ending * codes.COLUMN_BITS === bitsLog;

/** Every ending of so many characters that a text can have where the literal ends; one, if it is as long. */
function endingsOf(columns: readonly number[], characters: number): bigint[] {
  const known = columns.slice(-characters);
  const number = known.reduce((key, column) => (key << 6n) | BigInt(column), 0n);
  const any = 2 ** (codes.COLUMN_BITS * (characters - known.length));
  const bits = BigInt(codes.COLUMN_BITS * known.length);
  return Array.from({ length: any }, (_, before) => (BigInt(before) << bits) | number);
}

/** An ending in the upper bits, as the search has it. */
function keyOf(ending: bigint, characters: number): bigint {
  return BigInt.asUintN(64, ending << BigInt(64 - codes.COLUMN_BITS * characters));
}

interface Taken {
  readonly id: number;
  readonly columns: readonly number[];
}

/**
 * Builds the tables.
 * @param literals by id, folded; only those of ASCII are taken
 */
export function createEndingTables(literals: readonly Buffer[]): EndingTables {
  const ascii = [...literals.entries()].filter(([, bytes]) => isAscii(bytes));
  const columns = columnsOf(ascii.map(([, bytes]) => bytes));
  const taken = ascii.map(([id, bytes]) => ({
    id,
    columns: [...bytes].map((byte) => columns[byte] as number),
  }));
  const bitmaps = new Uint8Array(BITMAPS_BYTES);
  const buckets = new Uint32Array(BUCKETS);
  const inOrder: Taken[] = [];
  CLASSES.forEach((one, number) => {
    const limit = CLASSES[number - 1]?.least ?? Number.POSITIVE_INFINITY;
    const own = taken.filter(({ columns: { length } }) => length >= one.least && length < limit);
    fillBitmap(bitmaps.subarray(BITMAPS_AT[number]), one, own);
    const literalsOf = bucketsOf(one, own);
    const begins = buckets.subarray(BUCKETS_AT[number]);
    let next = 0;
    for (const bucket of [...literalsOf.keys()].sort((a, b) => a - b)) {
      begins.fill(inOrder.length, next, bucket + 1);
      next = bucket + 1;
      for (const literal of literalsOf.get(bucket) ?? []) inOrder.push(literal);
    }
    begins.fill(inOrder.length, next, 2 ** one.bucketsLog + 1);
  });
  const entries = new Uint8Array(inOrder.length * codes.ENTRY_BYTES);
  inOrder.forEach((literal, entry) => {
    const compared = literal.columns.slice(-codes.COMPARED_MAX);
    entries.set(compared, (entry + 1) * codes.ENTRY_BYTES - compared.length);
    entries[entry * codes.ENTRY_BYTES] = compared.length;
  });
  return {
    columnOf: columns.map((_, byte) => columns[FOLDED[byte] as number] as number),
    blank: columns[codes.BLANK] as number,
    longest: taken.reduce((longest, { columns: { length } }) => Math.max(longest, length), 0),
    bitmaps,
    buckets,
    entries,
    literals: Uint32Array.from(inOrder, ({ id }) => id),
    alike: mostAlike(taken),
  };
}

/** byte → column, from 1; 0 for bytes of no literal */
function columnsOf(literals: readonly Buffer[]): Uint8Array {
  const columns = new Uint8Array(256);
  const used = new Set<number>();
  for (const bytes of literals) for (const byte of bytes) used.add(byte);
  [...used]
    .sort((a, b) => a - b)
    .forEach((byte, index) => {
      columns[byte] = Math.min(index + 1, COLUMNS - 1);
    });
  return columns;
}

function mostAlike(literals: readonly Taken[]): number {
  const counts = new Map<string, number>();
  let most = 1;
  for (const { columns } of literals) {
    const compared = String.fromCharCode(...columns.slice(-codes.COMPARED_MAX));
    const count = (counts.get(compared) ?? 0) + 1;
    counts.set(compared, count);
    most = Math.max(most, count);
  }
  return most;
}

function fillBitmap(bitmap: Uint8Array, one: EndingClass, literals: readonly Taken[]): void {
  const { ending: characters, bitsLog } = one;
  for (const { columns } of literals) {
    for (const ending of endingsOf(columns, characters)) {
      const bit = isExact(one) ? Number(ending) : hashOf(keyOf(ending, characters), bitsLog);
      bitmap[bit >>> 3] = (bitmap[bit >>> 3] as number) | (1 << (bit & 7));
    }
  }
}

/** bucket → its literals, each once */
function bucketsOf(
  { bucketed, bucketsLog }: EndingClass,
  literals: readonly Taken[],
): ReadonlyMap<number, ReadonlySet<Taken>> {
  const buckets = new Map<number, Set<Taken>>();
  for (const literal of literals) {
    for (const ending of endingsOf(literal.columns, bucketed)) {
      const bucket = hashOf(keyOf(ending, bucketed), bucketsLog);
      const known = buckets.get(bucket);
      if (known === undefined) buckets.set(bucket, new Set([literal]));
      else known.add(literal);
    }
  }
  return buckets;
}
