/**
 * Owns the question which parts of Unicode a text touches: a pattern that needs a character of a part
 * that is not there cannot match. Pages are 8 code points each: small enough to tell a dash from an
 * invisible character. ASCII counts for none.
 */

import { hasWithin } from './int-arrays.ts';

/** Pages as inclusive ranges, one of which every match touches; null when ASCII may do. */
export type Pages = readonly PageRange[] | null;
export type PageRange = readonly [from: number, to: number];

const PAGE_BITS = 3;
const PAGES = 0x11_0000 >> PAGE_BITS;

export function pageOf(codePoint: number): number {
  return codePoint >> PAGE_BITS;
}

/** The smaller of two sets either of which every match touches. */
export function narrower(a: Pages, b: Pages): Pages {
  if (a === null || b === null) return a ?? b;
  return sizeOf(b) < sizeOf(a) ? b : a;
}

/** What every match of one of two alternatives touches. */
export function either(a: Pages, b: Pages): Pages {
  return a === null || b === null ? null : [...a, ...b];
}

function sizeOf(pages: readonly PageRange[]): number {
  return pages.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** Takes note of what a text touches; used again and again. */
export class PagesOfText {
  readonly #isTouched = new Uint8Array(PAGES);
  /** in order, each once */
  #touched = new Int32Array(0);

  /**
   * @param text valid UTF-8; what else stands in it is taken as it comes
   * @param beyond its runs beyond ASCII
   */
  note(text: Uint8Array, beyond: readonly number[]): void {
    for (const page of this.#touched) this.#isTouched[page] = 0;
    const touched: number[] = [];
    for (let run = 0; run < beyond.length; run += 2) {
      const end = beyond[run + 1] as number;
      for (let at = beyond[run] as number; at < end; at += 1) {
        if ((text[at] as number) < 0xc0) continue;
        const page = pageAt(text, at);
        if (this.#isTouched[page] !== 0) continue;
        this.#isTouched[page] = 1;
        touched.push(page);
      }
    }
    this.#touched = Int32Array.from(touched).sort();
  }

  touches(pages: readonly PageRange[]): boolean {
    return pages.some(([from, to]) => hasWithin(this.#touched, from, to));
  }
}

/** The page of the character that begins at an offset with a byte beyond ASCII. */
function pageAt(text: Uint8Array, at: number): number {
  const byte = text[at] as number;
  const second = (text[at + 1] ?? 0) & 63;
  if (byte < 0xe0) return ((byte & 31) << 3) | (second >> 3);
  const third = (text[at + 2] ?? 0) & 63;
  // What the last byte tells lies within the page, but for its three upper bits.
  if (byte < 0xf0) return ((byte & 15) << 9) | (second << 3) | (third >> 3);
  const fourth = (text[at + 3] ?? 0) & 63;
  return ((byte & 7) << 15) | (second << 9) | (third << 3) | (fourth >> 3);
}
