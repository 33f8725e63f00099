/**
 * Owns the search for non-ASCII bytes in a text. Most texts have a dash or two in twenty kilobytes, so
 * later passes over those bytes need not read all others.
 */
import { isAscii } from 'node:buffer';

/** Bits of a word of which one is set when a byte is not ASCII. */
const HIGH_BITS = 0x8080_8080;
const WORD_BYTES = 4;
const NONE: readonly number[] = [];

/** The runs of non-ASCII bytes, in order: pairs of offsets, start and end. */
export function nonAsciiRuns(bytes: Uint8Array): readonly number[] {
  if (isAscii(bytes)) return NONE;
  const runs: number[] = [];
  // A view of words must begin at a multiple of four.
  const skew = -bytes.byteOffset & (WORD_BYTES - 1);
  const count = Math.max(0, Math.floor((bytes.length - skew) / WORD_BYTES));
  const words = new Int32Array(bytes.buffer, count === 0 ? 0 : bytes.byteOffset + skew, count);
  let at = 0;
  while (at < bytes.length) {
    if (!isNonAsciiAt(bytes, at)) {
      let word = (at - skew) / WORD_BYTES;
      if (!Number.isInteger(word) || word < 0) {
        at += 1;
        continue;
      }
      while (word < count && ((words[word] as number) & HIGH_BITS) === 0) word += 1;
      at = skew + word * WORD_BYTES;
      while (at < bytes.length && !isNonAsciiAt(bytes, at)) at += 1;
    }
    const start = at;
    while (at < bytes.length && isNonAsciiAt(bytes, at)) at += 1;
    if (at > start) runs.push(start, at);
  }
  return runs;
}

function isNonAsciiAt(bytes: Uint8Array, at: number): boolean {
  return (bytes[at] as number) >= 0x80;
}
