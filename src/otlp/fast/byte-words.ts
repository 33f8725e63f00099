/** Compares a body's bytes with expected bytes, four at a time. */

/** At least four bytes as little-endian words; the last word may overlap the one before it. */
export interface ByteWords {
  readonly words: Int32Array;
  /** in bytes */
  readonly length: number;
}

const WORD_BYTES = 4;

/** @param bytes at least four; they are copied */
export function wordsOf(bytes: Buffer): ByteWords {
  const { length } = bytes;
  const words = Int32Array.from({ length: Math.ceil(length / WORD_BYTES) }, (_, index) =>
    bytes.readInt32LE(Math.min(WORD_BYTES * index, length - WORD_BYTES)),
  );
  return { words, length };
}

/** Checks whether these bytes are at `at`. Throws RangeError when fewer than four are left there. */
export function matchesAt({ words, length }: ByteWords, view: DataView, at: number): boolean {
  const last = words.length - 1;
  for (let index = 0; index < last; index += 1) {
    if (view.getInt32(at + WORD_BYTES * index, true) !== words[index]) return false;
  }
  return view.getInt32(at + length - WORD_BYTES, true) === words[last];
}

export function copyOf(view: DataView, start: number, end: number): DataView {
  const first = view.byteOffset + start;
  return new DataView(view.buffer.slice(first, first + end - start));
}

/** Checks whether the expected bytes are at `at`; false when fewer are left there. */
export function isAhead(expected: DataView, view: DataView, at: number): boolean {
  const length = expected.byteLength;
  return at + length <= view.byteLength && isSame(expected, 0, view, at, length);
}

/** Checks whether two ranges are equal. Compares from the end, where names differ more often. */
export function isSame(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  let left = length;
  for (; left >= WORD_BYTES; left -= WORD_BYTES) {
    const at = left - WORD_BYTES;
    if (a.getInt32(aStart + at) !== b.getInt32(bStart + at)) return false;
  }
  for (; left > 0; left -= 1) {
    if (a.getUint8(aStart + left - 1) !== b.getUint8(bStart + left - 1)) return false;
  }
  return true;
}
