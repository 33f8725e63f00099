/**
 * Owns the pages of Unicode that a text has characters of: a pattern that needs a character of another
 * page cannot match. A page is 8 code points, small enough to separate a dash from an invisible
 * character. ASCII is on no page.
 */

import { hasWithin } from './int-arrays.ts';

/** Inclusive ranges of pages of which every match has a character; null if it may be all ASCII. */
export type Pages = readonly PageRange[] | null;
export type PageRange = readonly [from: number, to: number];

const PAGE_BITS = 3;
const PAGES = 0x11_0000 >> PAGE_BITS;

export function pageOf(codePoint: number): number {
  return codePoint >> PAGE_BITS;
}

/** The smaller of two sets that both hold for every match. */
export function narrower(a: Pages, b: Pages): Pages {
  if (a === null || b === null) return a ?? b;
  return sizeOf(b) < sizeOf(a) ? b : a;
}

/** The pages of two alternatives. */
export function either(a: Pages, b: Pages): Pages {
  return a === null || b === null ? null : [...a, ...b];
}

function sizeOf(pages: readonly PageRange[]): number {
  return pages.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** The pages of a text; reused for the next text. */
export class TextPages {
  readonly #isPresent = new Uint8Array(PAGES);
  /** in order, each once */
  #pages = new Int32Array(0);

  /**
   * @param text UTF-8; other bytes give any page
   * @param nonAscii its runs of non-ASCII bytes
   */
  enter(text: Uint8Array, nonAscii: readonly number[]): void {
    for (const page of this.#pages) this.#isPresent[page] = 0;
    const pages: number[] = [];
    for (let run = 0; run < nonAscii.length; run += 2) {
      const end = nonAscii[run + 1] as number;
      for (let at = nonAscii[run] as number; at < end; at += 1) {
        if ((text[at] as number) < 0xc0) continue;
        const page = pageAt(text, at);
        if (this.#isPresent[page] !== 0) continue;
        this.#isPresent[page] = 1;
        pages.push(page);
      }
    }
    this.#pages = Int32Array.from(pages).sort();
  }

  hasAny(pages: readonly PageRange[]): boolean {
    const own = this.#pages;
    if (own.length === 0) return false;
    const first = own[0] as number;
    const last = own[own.length - 1] as number;
    for (const [from, to] of pages) {
      if (from <= last && to >= first && hasWithin(own, from, to)) return true;
    }
    return false;
  }
}

/** The page of the non-ASCII character at an offset. */
function pageAt(text: Uint8Array, at: number): number {
  const byte = text[at] as number;
  const second = (text[at + 1] ?? 0) & 63;
  if (byte < 0xe0) return ((byte & 31) << 3) | (second >> 3);
  const third = (text[at + 2] ?? 0) & 63;
  // The lower bits of the last byte are within the page.
  if (byte < 0xf0) return ((byte & 15) << 9) | (second << 3) | (third >> 3);
  const fourth = (text[at + 3] ?? 0) & 63;
  return ((byte & 7) << 15) | (second << 9) | (third << 3) | (fourth >> 3);
}
