/**
 * Numbers that the searches and the makers of their tables share. Also plain TypeScript, unlike the other
 * files of this folder.
 */

// The search for ASCII literals (`literal-endings.ts`).
export const COLUMN_BITS = 6;
export const ENTRY_BYTES = 16;
/** Of a longer literal only so many last characters are compared. */
export const COMPARED_MAX = 15;

// Classes of literals by their length: characters of the ending, binary logarithms of the bits of the bitmap and of
// the number of buckets. The ending itself is the index in the last bitmap.
export const ENDING_0 = 10;
export const BITS_0 = 19;
export const BUCKETS_0 = 15;
export const ENDING_1 = 6;
export const BITS_1 = 18;
export const BUCKETS_1 = 13;
export const ENDING_2 = 4;
export const BITS_2 = 17;
export const BUCKETS_2 = 11;
export const ENDING_3 = 3;
export const BITS_3 = 18;
export const BUCKETS_3 = 11;
/** Characters of the last class that choose the bucket. */
export const BUCKETED_3 = 2;

// The search for literals beyond ASCII (`non-ascii-literals.ts`).
/** Most characters of a literal that are hashed, up to its last one beyond ASCII: its key. */
export const HASHED_MAX = 4;
export const HASHES = 16384;
/** The hashes are the highest bits of the sum, and some of the others. */
export const SHIFT = 18;
export const OTHER_SHIFT = 3;
/** Odd numbers without a pattern, for the characters of a key, newest first. */
export const MULTIPLIER_0 = 0x9e3779b1;
export const MULTIPLIER_1 = 0x85ebca77;
export const MULTIPLIER_2 = 0xc2b2ae3d;
export const MULTIPLIER_3 = 0x27d4eb2f;
/** Bits of a code point within its page of Unicode. */
export const PAGE_BITS = 3;
export const PAGES = 0x22000;
export const BLANK = 32;
