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
import type { Automaton } from './aho-corasick.ts';
import { Branches, COMPANIONS_MAX } from './branches.ts';
import { replaceAsciiEquals, type SearchedText } from './folding.ts';
import { rangesAround, updateHits } from './incremental-search.ts';
import { LiteralHits } from './literal-hits.ts';
import { LiteralScan } from './literal-scan.ts';
import { createSearch, findNonAsciiLiterals } from './literal-search.ts';
import { SetPositions } from './literal-sets.ts';
import { type MatchWindows, mergeWindows, WindowFinder } from './match-windows.ts';
import { nonAsciiRuns } from './non-ascii.ts';
import type { PrefilterTables } from './prefilter-tables.ts';
import { MeasuredBounds } from './text-bounds.ts';
import { type PageRange, TextPages } from './unicode-pages.ts';

/** Pattern → windows in which it may match; other patterns cannot match. */
export type Candidates = ReadonlyMap<number, MatchWindows>;

/** A reading of a text. */
interface SearchedReading {
  /** UTF-8 */
  readonly bytes: Buffer;
  /**
   * Of the normalised reading, where it differs from the written one: only matches that touch these
   * ranges, or the character on either side, are needed. Null for all. Called once, if at all.
   */
  readonly changes: () => Changes<Int32Array> | null;
}

/** One per thread: its buffers are reused for every text. */
export class Prefilter {
  readonly #always: Int32Array;
  readonly #alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  readonly #ascii: LiteralScan;
  readonly #nonAscii: Automaton;
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
    this.#nonAscii = tables.nonAscii;
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
    const longest = Math.max(this.#ascii.longest, this.#nonAscii.longest);
    // Number of ASCII hits of the written reading; null if letters were replaced in it.
    let asciiCount: number | null = null;
    return readings.map(({ bytes, changes: changesOf }, index) => {
      const nonAscii = nonAsciiRuns(bytes);
      const text = nonAscii.length === 0 ? { bytes, origin: null } : replaceAsciiEquals(bytes);
      const changes = index === 0 ? null : changesOf();
      const isUnchanged = text.origin === null;
      if (changes !== null && isUnchanged && asciiCount !== null) {
        const ranges = rangesAround(bytes, changes, longest);
        if (ranges !== null) {
          this.#updateHits(text, changes, ranges, asciiCount);
          const { normalised } = changes;
          return this.#candidatesIn(bytes, nonAscii, this.#normalised, isSearched, normalised);
        }
      }
      const hits = this.#written;
      hits.enter(text);
      this.#ascii.find(text.bytes, hits);
      asciiCount = isUnchanged ? hits.count : null;
      const runs = isUnchanged ? nonAscii : nonAsciiRuns(text.bytes);
      findNonAsciiLiterals(this.#nonAscii, text.bytes, hits, runs);
      return this.#candidatesIn(bytes, nonAscii, hits, isSearched, changes?.normalised ?? null);
    });
  }

  /** The hits of the normalised reading, from those of the written one. */
  #updateHits(
    text: SearchedText,
    changes: Changes<Int32Array>,
    ranges: Int32Array,
    asciiCount: number,
  ): void {
    const { bytes } = text;
    const written = this.#written;
    this.#normalised.enter(text);
    for (const [literals, from, until] of [
      [this.#ascii, 0, asciiCount],
      [createSearch(this.#nonAscii), asciiCount, written.count],
    ] as const) {
      const search = { literals, bytes, changes, ranges };
      updateHits(search, written, from, until, this.#around, this.#normalised);
    }
  }

  /** @param ranges only matches that touch one of these are needed; null for all */
  #candidatesIn(
    text: Buffer,
    nonAscii: readonly number[],
    hits: LiteralHits,
    isSearched: (pattern: number) => boolean,
    ranges: Int32Array | null,
  ): Candidates {
    const found = new Map<number, number[] | null>();
    for (const pattern of this.#always) if (isSearched(pattern)) found.set(pattern, null);
    this.#pages.enter(text, nonAscii);
    for (const [pattern, pages] of this.#alwaysOnPages) {
      if (this.#pages.hasAny(pages) && isSearched(pattern)) found.set(pattern, null);
    }
    const branches = this.#branches;
    branches.enter(new MeasuredBounds(text, nonAscii));
    for (const branch of this.#possibleBranches(hits)) {
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

  /** The branches whose sets and pages the text has. */
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
