/**
 * Owns the question which parts of Unicode a text touches: a pattern that needs a character of a part
 * that is not there cannot match. Pages are 256 code points each; ASCII counts for none.
 */

/** Pages one of which every match touches; null when ASCII may do. */
export type Pages = ReadonlySet<number> | null;

const PAGES = 0x1100;

export function pageOf(codePoint: number): number {
  return codePoint >> 8;
}

/** The smaller of two sets either of which every match touches. */
export function narrower(a: Pages, b: Pages): Pages {
  if (a === null || b === null) return a ?? b;
  return b.size < a.size ? b : a;
}

/** What every match of one of two alternatives touches. */
export function either(a: Pages, b: Pages): Pages {
  return a === null || b === null ? null : new Set([...a, ...b]);
}

/** Takes note of what a text touches; used again and again. */
export class PagesOfText {
  readonly #touched = new Uint8Array(PAGES);

  /** @param text valid UTF-8; what else stands in it is taken as it comes */
  note(text: Uint8Array): void {
    this.#touched.fill(0);
    for (let at = 0; at < text.length; at += 1) {
      const byte = text[at] as number;
      if (byte < 0xc0) continue;
      const next = (text[at + 1] ?? 0) & 63;
      // The page's bits end in the third byte from the end.
      const page =
        byte < 0xe0
          ? (byte & 31) >> 2
          : byte < 0xf0
            ? ((byte & 15) << 4) | (next >> 2)
            : ((byte & 7) << 10) | (next << 4) | (((text[at + 2] ?? 0) & 63) >> 2);
      this.#touched[page] = 1;
    }
  }

  touches(pages: ReadonlySet<number>): boolean {
    for (const page of pages) if (this.#touched[page] === 1) return true;
    return false;
  }
}
