/**
 * Owns the matcher of the pass: the plain matcher's results, with RE2 run only where the prefilter
 * cannot exclude a match. `docs/matching.md` explains the design and why no hit is lost.
 */
import { groupBy } from '../../model/groups.ts';
import type { Rule } from '../../model/rules.ts';
import { SURFACES, type Surface } from '../../model/steps.ts';
import type { MatchableCondition, MatchScope } from '../matcher/condition-matcher.ts';
import {
  type CreateScope,
  createScopedMatcher,
  type IsOver,
  type Matcher,
  matchableConditions,
} from '../matcher/matcher.ts';
import {
  type ByteRange,
  createPatternCompiler,
  type Pattern,
  type PatternCompiler,
} from '../matcher/pattern.ts';
import { findAt, type PreparedText, type TextReading } from '../matcher/prepared-text.ts';
import type { Placement, PreparedRun } from '../matcher/run-texts.ts';
import { boundaryBefore } from '../matcher/utf8.ts';
import type { MatchWindows } from './match-windows.ts';
import { type Candidates, Prefilter } from './prefilter.ts';
import { createPrefilterTables, type PrefilterTables, sha256Of } from './prefilter-tables.ts';
import type { RequirementsReader } from './requirements.ts';

const NO_PLACEMENTS: readonly Placement[] = [];

/**
 * The prefilter's tables for the patterns of these rules. Takes a second for the whole corpus. Plain
 * data that threads can share.
 */
export function tablesOf(rules: readonly Rule[], read?: RequirementsReader): PrefilterTables {
  return createPrefilterTables(sourcesOf(matchableConditions(rules)), read);
}

function sourcesOf(conditions: readonly MatchableCondition[]): string[] {
  return conditions.map(({ condition }) => condition.pattern);
}

/**
 * Creates the matcher; RE2 programs are compiled when a text first needs them.
 * @param rules plain data; only supported conditions are matched, unsupported rules never hit
 * @param tables `tablesOf` the same rules
 * @throws RangeError when they are of others
 */
export function createFastMatcher(
  rules: readonly Rule[],
  compile: PatternCompiler = createPatternCompiler(),
  tables: PrefilterTables = tablesOf(rules),
): Matcher {
  const conditions = matchableConditions(rules);
  if (tables.patternsSha256 !== sha256Of(sourcesOf(conditions))) {
    throw new RangeError('the tables are those of other rules');
  }
  const prefilter = new Prefilter(tables);
  const surfaces = Uint32Array.from(conditions, ({ condition }) => bitsOf(condition.surfaces));
  const createScope: CreateScope = (isEnabled) => new FilteredScope(prefilter, surfaces, isEnabled);
  return createScopedMatcher(rules, conditions, compile, createScope);
}

/** The prefilter's results for the texts of one run. A condition's number is its pattern's. */
class FilteredScope implements MatchScope {
  readonly #prefilter: Prefilter;
  /** condition → the surfaces that it reads, as bits */
  readonly #surfaces: Uint32Array;
  readonly #isEnabled: (condition: number) => boolean;
  /** of all readings of the run so far */
  readonly #candidates = new Map<Buffer, Candidates>();
  /** condition → the texts of the portion that it may hit */
  #placements = new Map<number, Placement[]>();
  /** conditions that may hit in an earlier portion */
  readonly #earlier = new Set<number>();

  constructor(
    prefilter: Prefilter,
    surfaces: Uint32Array,
    isEnabled: (condition: number) => boolean,
  ) {
    this.#prefilter = prefilter;
    this.#surfaces = surfaces;
    this.#isEnabled = isEnabled;
  }

  *enter(portion: PreparedRun, isOver: IsOver): Generator<void, void> {
    if (this.#placements.size > 0) {
      for (const condition of this.#placements.keys()) this.#earlier.add(condition);
      this.#placements = new Map();
    }
    for (const [text, placements] of groupBy(portion.distinct, (placement) => placement.text)) {
      const bits = bitsOf(placements.map(({ surface }) => surface));
      const isSearched = (condition: number) =>
        ((this.#surfaces[condition] as number) & bits) !== 0 && this.#isEnabled(condition);
      for (const condition of this.#scan(text, isSearched)) {
        const known = this.#placements.get(condition);
        if (known === undefined) this.#placements.set(condition, [...placements]);
        else known.push(...placements);
      }
      if (isOver()) yield;
    }
    // They were added text by text, and are matched in time order.
    for (const placements of this.#placements.values()) {
      placements.sort((a, b) => a.textIndex - b.textIndex);
    }
  }

  /** The conditions that may hit a text, in any of its readings. */
  #scan(text: PreparedText, isSearched: (condition: number) => boolean): Set<number> {
    const found = new Set<number>();
    const readings = this.#prefilter.candidates(text.readings, isSearched);
    readings.forEach((candidates, index) => {
      const reading = text.readings[index];
      if (reading !== undefined) this.#addCandidates(reading, candidates);
      for (const condition of candidates.keys()) found.add(condition);
    });
    return found;
  }

  /** The same text may occur on another surface, with other conditions. */
  #addCandidates({ bytes }: TextReading, candidates: Candidates): void {
    const before = this.#candidates.get(bytes);
    const all = before === undefined ? candidates : new Map([...before, ...candidates]);
    this.#candidates.set(bytes, all);
  }

  get candidates(): Iterable<number> {
    return this.#placements.keys();
  }

  placementsOf(condition: number): readonly Placement[] {
    return this.#placements.get(condition) ?? NO_PLACEMENTS;
  }

  mayHit(condition: number): boolean {
    return this.#placements.has(condition) || this.#earlier.has(condition);
  }

  find(
    condition: number,
    pattern: Pattern,
    { bytes }: TextReading,
    from: number,
  ): ByteRange | null {
    const windows = this.#candidates.get(bytes)?.get(condition);
    return windows === undefined ? null : findWithin(pattern, bytes, windows, from);
  }
}

function bitsOf(surfaces: readonly Surface[]): number {
  return surfaces.reduce((bits, surface) => bits | (1 << SURFACES.indexOf(surface)), 0);
}

/**
 * The leftmost match that starts at `after` or later, searched in the windows, in order: every match of
 * the text is inside one.
 *
 * A match inside a window, away from its edges, is a match of the text: RE2 looks at no more than one
 * character on either side. At an edge that is not the text's own the match may be due to the edge
 * (`^`, `$`, `\b`), so the whole text is searched.
 */
function findWithin(
  pattern: Pattern,
  bytes: Buffer,
  windows: MatchWindows,
  after: number,
): ByteRange | null {
  if (windows === null) return findLikely(pattern, bytes, after);
  for (let at = 0; at < windows.length; at += 2) {
    const to = windows[at + 1] ?? bytes.length;
    if (to < after) continue;
    const from = Math.max(windows[at] ?? 0, lookedAtFrom(bytes, after));
    const found = findLikely(pattern, bytes.subarray(from, to), Math.max(0, after - from));
    if (found === null) continue;
    const start = from + found.start;
    const end = from + found.end;
    const isInside = (start > from || from === 0) && (end < to || to === bytes.length);
    return isInside ? { start, end } : findLikely(pattern, bytes, after);
  }
  return null;
}

/** The leftmost match from `from` on, in bytes that have the pattern's literals, but mostly no match. */
function findLikely(pattern: Pattern, bytes: Buffer, from: number): ByteRange | null {
  const rest = from === 0 ? bytes : bytes.subarray(lookedAtFrom(bytes, from));
  return pattern.mayMatch(rest) ? findAt(pattern, bytes, from) : null;
}

/** Where the character before a match begins, at which `^` and `\b` look. */
function lookedAtFrom(bytes: Buffer, from: number): number {
  return from === 0 ? 0 : boundaryBefore(bytes, from - 1);
}
