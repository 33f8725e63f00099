/**
 * Owns the decision which patterns can match a text, and where.
 *
 * The guarantee: a pattern that is not among the candidates, and a place outside a candidate's windows,
 * has no match. The reverse is not guaranteed: RE2 must search the windows.
 *
 *   text ──► hits of all literals (one search) ──► branches whose anchor was hit
 *        ──► their other literals near it? ──► windows as wide as a match can be ──► RE2
 */
import type { Changes } from '../matcher/normalised-text.ts';
import { Branches, COMPANIONS_MAX } from './branches.ts';
import { replaceAsciiEquals, type SearchedText } from './folding.ts';
import { rangesAround, updateHits } from './incremental-search.ts';
import { LiteralHits } from './literal-hits.ts';
import { LiteralScan } from './literal-scan.ts';
import { SetPositions } from './literal-sets.ts';
import { type MatchWindows, mergeWindows, WindowFinder } from './match-windows.ts';
import { NonAsciiScan } from './non-ascii-scan.ts';
import type { PrefilterTables } from './prefilter-tables.ts';
import { MeasuredBounds } from './text-bounds.ts';
import { type PageRange, TextPages } from './unicode-pages.ts';

/** Pattern → windows in which it may match; other patterns cannot match. */
export type Candidates = ReadonlyMap<number, MatchWindows>;

interface SearchedReading {
  readonly bytes: Buffer;
  readonly changeCount: number;
  /**
   * Of the normalised reading, where it differs from the written one: only matches that touch these
   * ranges, or the character on either side, are needed. Null for all.
   */
  readonly changes: () => Changes<Int32Array> | null;
}

/** One per thread: its buffers are reused for every text. */
export class Prefilter {
  readonly #always: Int32Array;
  readonly #alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  readonly #ascii: LiteralScan;
  readonly #nonAscii: NonAsciiScan;
  readonly #branches: Branches;
  readonly #pages = new TextPages();
  readonly #written: LiteralHits;
  readonly #normalised: LiteralHits;
  /** of the normalised reading, around its changes */
  readonly #around: LiteralHits;
  readonly #positions: SetPositions;
  readonly #windows: WindowFinder;

  constructor(tables: PrefilterTables) {
    const { shapes } = tables;
    this.#always = tables.always;
    this.#alwaysOnPages = tables.alwaysOnPages;
    this.#ascii = new LiteralScan(tables.ascii);
    this.#nonAscii = new NonAsciiScan(tables.nonAscii);
    this.#branches = new Branches(tables.branches);
    this.#written = new LiteralHits(shapes);
    this.#normalised = new LiteralHits(shapes);
    this.#around = new LiteralHits(shapes);
    this.#positions = new SetPositions(tables.sets);
    this.#windows = new WindowFinder(this.#branches, this.#positions);
  }

  /**
   * The candidates of each reading of a text.
   * @param readings as written, and normalised if that differs
   * @param isSearched whether a pattern is matched at all
   */
  candidates(
    readings: readonly SearchedReading[],
    isSearched: (pattern: number) => boolean,
  ): Candidates[] {
    // Number of ASCII hits of the written reading, the first; null if letters were replaced in it.
    let asciiCount: number | null = null;
    return readings.map(({ bytes, changeCount, changes: changesOf }, index) => {
      const text = replaceAsciiEquals(bytes);
      const isUnchanged = text.origin === null;
      const changesIn = () => (index === 0 ? null : changesOf());
      // Around so many changes there is all of the text.
      const isChanged = 2 * this.#ascii.longest * changeCount > bytes.length;
      if (isUnchanged && asciiCount !== null && !isChanged) {
        const changes = changesIn();
        const ranges = changes && rangesAround(bytes, changes, this.#ascii.longest);
        if (changes !== null && ranges !== null) {
          const hits = this.#normalised;
          this.#updateHits(text, changes, ranges, asciiCount);
          this.#nonAscii.read(bytes, hits);
          return this.#candidatesIn(bytes, hits, isSearched, changesIn);
        }
      }
      const hits = index === 0 ? this.#written : this.#normalised;
      hits.enter(text);
      this.#ascii.find(text.bytes, hits);
      if (index === 0 && isUnchanged) asciiCount = hits.count;
      this.#nonAscii.read(text.bytes, hits);
      if (!isUnchanged) this.#nonAscii.read(bytes, null);
      return this.#candidatesIn(bytes, hits, isSearched, changesIn);
    });
  }

  /** The hits of ASCII literals in the normalised reading, from those in the written one. */
  #updateHits(
    text: SearchedText,
    changes: Changes<Int32Array>,
    ranges: Int32Array,
    asciiCount: number,
  ): void {
    const { bytes } = text;
    this.#normalised.enter(text);
    const search = { literals: this.#ascii, bytes, changes, ranges };
    updateHits(search, this.#written, asciiCount, this.#around, this.#normalised);
  }

  /**
   * @param text the one that `#nonAscii` read last
   * @param changes only matches that touch one of these are needed; null for all
   */
  #candidatesIn(
    text: Buffer,
    hits: LiteralHits,
    isSearched: (pattern: number) => boolean,
    changes: SearchedReading['changes'],
  ): Candidates {
    const found = new Map<number, number[] | null>();
    for (const pattern of this.#always) if (isSearched(pattern)) found.set(pattern, null);
    this.#pages.enter(this.#nonAscii.pages);
    for (const [pattern, pages] of this.#alwaysOnPages) {
      if (this.#pages.hasAny(pages) && isSearched(pattern)) found.set(pattern, null);
    }
    const branches = this.#branches;
    branches.enter(new MeasuredBounds(text, this.#nonAscii.continuations));
    const possible = this.#possibleBranches(hits);
    const ranges = possible.length === 0 ? null : (changes()?.normalised ?? null);
    for (const branch of possible) {
      const pattern = branches.tables.pattern[branch] as number;
      const known = found.get(pattern);
      if (known === null || !isSearched(pattern)) continue;
      const windows = known ?? [];
      const isBounded = this.#windows.add(windows, branch, text.length, ranges);
      if (!isBounded) found.set(pattern, null);
      else if (known === undefined && windows.length > 0) found.set(pattern, windows);
    }
    for (const [pattern, windows] of found) {
      if (windows !== null) found.set(pattern, mergeWindows(windows, text));
    }
    return found;
  }

  /** The branches with sets and pages that the text has. */
  #possibleBranches(hits: LiteralHits): number[] {
    const positions = this.#positions;
    positions.enter(hits);
    const { anchored, anchoredAt } = this.#branches.tables;
    const { present } = positions;
    const possible: number[] = [];
    for (let index = 0; index < present.length; index += 1) {
      const set = present[index] as number;
      const end = anchoredAt[set + 1] as number;
      for (let at = anchoredAt[set] as number; at < end; at += 1) {
        const branch = anchored[at] as number;
        if (this.#isPossible(branch)) possible.push(branch);
      }
    }
    return possible;
  }

  #isPossible(branch: number): boolean {
    for (let index = 0; index < COMPANIONS_MAX; index += 1) {
      const set = this.#branches.companion(branch, index);
      if (set < 0) break;
      if (!this.#positions.has(set)) return false;
    }
    const pages = this.#branches.pagesOf(branch);
    return pages === null || this.#pages.hasAny(pages);
  }
}
