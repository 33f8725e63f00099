/**
 * Owns the question which patterns can match a text at all, and where.
 *
 * The promise: a pattern that is not named, or a place outside the windows named for it, holds no
 * match. The reverse is not promised: passing proves nothing, RE2 must be asked.
 *
 *   text ──► every literal's places (one walk) ──► branches whose rarest literal was hit
 *        ──► their other literals near it? ──► windows as wide as a match can reach ──► RE2
 */
import type { Changes } from '../matcher/normalised-text.ts';
import type { Automaton } from './aho-corasick.ts';
import { Branches, COMPANIONS_MAX } from './branches.ts';
import { type Walked, withPlainLetters } from './folding.ts';
import { carryOver, stretchesAround } from './incremental-search.ts';
import { Hits } from './literal-hits.ts';
import { walk, walkBeyondAscii } from './literal-search.ts';
import { Places } from './literal-sets.ts';
import { addWindows, merge, type Windows } from './match-windows.ts';
import { runsBeyondAscii } from './non-ascii.ts';
import type { PrefilterTables } from './prefilter-tables.ts';
import { BoundsOfText } from './text-bounds.ts';
import { type PageRange, PagesOfText } from './unicode-pages.ts';

/** Pattern index → where to look; patterns that are not in it cannot match. */
export type Candidates = ReadonlyMap<number, Windows>;

/** A reading of a text, to be asked about. */
export interface SoughtReading {
  /** UTF-8 */
  readonly bytes: Buffer;
  /**
   * Of a second reading, where it differs from the first: only matches are of interest that touch one
   * of these stretches, with the character on either side of them. Null for all. Asked for once, if
   * at all.
   */
  readonly changes: () => Changes<Int32Array> | null;
}

export class Prefilter {
  /** patterns that need nothing which could be looked for */
  readonly #always: Int32Array;
  /** the same for texts that touch certain pages of Unicode: in others they cannot match */
  readonly #alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  readonly #pages = new PagesOfText();
  readonly #ascii: Automaton;
  readonly #beyond: Automaton;
  readonly #hits: Hits;
  /** of a second reading, and where they are found around its changes */
  readonly #second: Hits;
  readonly #around: Hits;
  readonly #places: Places;
  readonly #branches: Branches;

  constructor(tables: PrefilterTables) {
    const { shapes } = tables;
    this.#always = tables.always;
    this.#alwaysOnPages = tables.alwaysOnPages;
    this.#ascii = tables.ascii;
    this.#beyond = tables.beyond;
    this.#hits = new Hits(shapes);
    this.#second = new Hits(shapes);
    this.#around = new Hits(shapes);
    this.#places = new Places(tables.sets);
    this.#branches = new Branches(tables.branches);
  }

  /**
   * Which patterns can match, and where, in each reading of a text.
   * @param readings as it was written, and the second, if there is one
   * @param asked is the pattern of any interest?
   */
  candidates(
    readings: readonly SoughtReading[],
    asked: (pattern: number) => boolean,
  ): Candidates[] {
    const longest = Math.max(this.#ascii.longest, this.#beyond.longest);
    // Of the first reading, hits of literals that are all ASCII; null when it was copied to be walked over.
    let ascii: number | null = null;
    return readings.map(({ bytes, changes: changesOf }, which) => {
      const beyond = runsBeyondAscii(bytes);
      const text = beyond.length === 0 ? { bytes, origin: null } : withPlainLetters(bytes);
      const changes = which === 0 ? null : changesOf();
      const isPlain = text.origin === null;
      if (changes !== null && isPlain && ascii !== null) {
        const stretches = stretchesAround(bytes, changes, longest);
        if (stretches !== null) {
          this.#carryOver(text, changes, stretches, ascii);
          return this.#candidatesIn(bytes, beyond, this.#second, asked, changes.read);
        }
      }
      this.#hits.enter(text);
      walk(this.#ascii, text.bytes, this.#hits);
      ascii = isPlain ? this.#hits.count : null;
      const walked = isPlain ? beyond : runsBeyondAscii(text.bytes);
      walkBeyondAscii(this.#beyond, text.bytes, this.#hits, walked);
      return this.#candidatesIn(bytes, beyond, this.#hits, asked, changes?.read ?? null);
    });
  }

  /** The hits of the second reading from those of the first. */
  #carryOver(
    text: Walked,
    changes: Changes<Int32Array>,
    stretches: Int32Array,
    ascii: number,
  ): void {
    const { bytes } = text;
    const first = this.#hits;
    const second = this.#second;
    second.enter(text);
    for (const [automaton, from, until] of [
      [this.#ascii, 0, ascii],
      [this.#beyond, ascii, first.count],
    ] as const) {
      const reading = { automaton, bytes, changes, stretches };
      carryOver(reading, first, from, until, this.#around, second);
    }
  }

  #candidatesIn(
    text: Buffer,
    beyond: readonly number[],
    hits: Hits,
    asked: (pattern: number) => boolean,
    stretches: Int32Array | null,
  ): Candidates {
    const found = new Map<number, number[] | null>();
    for (const pattern of this.#always) if (asked(pattern)) found.set(pattern, null);
    this.#pages.note(text, beyond);
    for (const [pattern, pages] of this.#alwaysOnPages) {
      if (this.#pages.touches(pages) && asked(pattern)) found.set(pattern, null);
    }
    const branches = this.#branches;
    branches.enter(new BoundsOfText(text, beyond));
    for (const branch of this.#possible(hits)) {
      const pattern = branches.tables.pattern[branch] as number;
      const known = found.get(pattern);
      if (known === null || !asked(pattern)) continue;
      const those = known ?? [];
      const isBounded = addWindows(those, branch, branches, this.#places, text.length, stretches);
      if (!isBounded) found.set(pattern, null);
      else if (known === undefined && those.length > 0) found.set(pattern, those);
    }
    const windows = new Map<number, Windows>();
    for (const [pattern, those] of found) {
      windows.set(pattern, those === null ? null : merge(those, text));
    }
    return windows;
  }

  /** The branches all of whose sets are present, on pages that the text touches. */
  #possible(hits: Hits): number[] {
    const places = this.#places;
    places.enter(hits);
    const { anchored, anchoredAt } = this.#branches.tables;
    const possible: number[] = [];
    for (const set of places.present) {
      const end = anchoredAt[set + 1] as number;
      for (let at = anchoredAt[set] as number; at < end; at += 1) {
        const branch = anchored[at] as number;
        if (this.#isPossible(branch)) possible.push(branch);
      }
    }
    return possible;
  }

  #isPossible(branch: number): boolean {
    for (let which = 0; which < COMPANIONS_MAX; which += 1) {
      const set = this.#branches.companion(branch, which);
      if (set < 0) break;
      if (!this.#places.has(set)) return false;
    }
    const pages = this.#branches.pagesOf(branch);
    return pages === null || this.#pages.touches(pages);
  }
}
