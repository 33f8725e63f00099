/**
 * Owns the pages of Unicode that a text has characters of: a pattern that needs a character of another
 * page cannot match. A page is 8 code points, small enough to separate a dash from an invisible
 * character. ASCII is on no page.
 */

import { PAGE_BITS } from './assembly/codes.ts';
import { hasWithin } from './int-arrays.ts';

/** Inclusive ranges of pages; every match has a character of one of them. Null if it may be all ASCII. */
export type Pages = readonly PageRange[] | null;
export type PageRange = readonly [from: number, to: number];

const NONE = new Int32Array(0);

export function pageOf(codePoint: number): number {
  return codePoint >> PAGE_BITS;
}

/** The smaller of two sets that both hold for every match. */
export function narrower(a: Pages, b: Pages): Pages {
  if (a === null || b === null) return a ?? b;
  return sizeOf(b) < sizeOf(a) ? b : a;
}

export function either(a: Pages, b: Pages): Pages {
  return a === null || b === null ? null : [...a, ...b];
}

function sizeOf(pages: readonly PageRange[]): number {
  return pages.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** The pages of a text; reused for the next text. */
export class TextPages {
  /** in order, each once */
  #pages = NONE;

  /** @param pages that the text has characters of, each once */
  enter(pages: Int32Array): void {
    this.#pages = pages.length === 0 ? NONE : Int32Array.from(pages).sort();
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
