/**
 * The matcher of the pass: the plain matcher's answers, asked only where the prefilter leaves a
 * doubt. `docs/matching.md` tells the design and why nothing is lost.
 */
import { type Rule, SURFACES, type Surface } from '../../model.ts';
import {
  createMatcherOver,
  findIn,
  type IsOver,
  type Matcher,
  type Narrow,
  type Question,
  questionsOf,
  type Scope,
} from '../matcher/matcher.ts';
import {
  type ByteRange,
  createPatternCompiler,
  type Pattern,
  type PatternCompiler,
} from '../matcher/pattern.ts';
import type { Placement, PreparedRun, PreparedText, Reading } from '../matcher/prepared-text.ts';
import type { Windows } from './match-windows.ts';
import { type Candidates, Prefilter } from './prefilter.ts';
import { createPrefilterTables, type PrefilterTables, sha256Of } from './prefilter-tables.ts';
import type { RequirementsReader } from './requirements.ts';

const NOWHERE: readonly Placement[] = [];

/**
 * What the matcher of these rules knows beforehand: the patterns' needs are read, and their literals'
 * automata are built. Takes a second for the whole corpus. Plain data, for as many threads as match.
 */
export function tablesOf(rules: readonly Rule[], read?: RequirementsReader): PrefilterTables {
  return createPrefilterTables(sourcesOf(questionsOf(rules)), read);
}

function sourcesOf(questions: readonly Question[]): string[] {
  return questions.map(({ condition }) => condition.pattern);
}

/**
 * Creates the matcher; RE2 programs are compiled when a text first asks for them.
 * @param rules plain data; only supported conditions are asked, unsupported rules never hit
 * @param tables `tablesOf` the same rules
 * @throws RangeError when they are of others
 */
export function createFastMatcher(
  rules: readonly Rule[],
  compile: PatternCompiler = createPatternCompiler(),
  tables: PrefilterTables = tablesOf(rules),
): Matcher {
  const questions = questionsOf(rules);
  if (tables.patternsSha256 !== sha256Of(sourcesOf(questions))) {
    throw new RangeError('the tables are those of other rules');
  }
  const prefilter = new Prefilter(tables);
  const reads = Uint32Array.from(questions, ({ condition }) => bitsOf(condition.surfaces));
  const narrow: Narrow = (isAsked) => new NarrowedRun(prefilter, reads, isAsked);
  return createMatcherOver(rules, questions, compile, narrow);
}

/** What the prefilter says about the texts of one run. */
class NarrowedRun implements Scope {
  readonly #prefilter: Prefilter;
  /** question → the surfaces it reads, as bits */
  readonly #reads: Uint32Array;
  readonly #isAsked: (question: number) => boolean;
  /** of all readings of the run so far */
  readonly #candidates = new Map<Buffer, Candidates>();
  /** question → the places in the portion where it may hit */
  #placements = new Map<number, Placement[]>();
  /** questions that may hit in an earlier portion */
  readonly #wereOpen = new Set<number>();

  constructor(prefilter: Prefilter, reads: Uint32Array, isAsked: (question: number) => boolean) {
    this.#prefilter = prefilter;
    this.#reads = reads;
    this.#isAsked = isAsked;
  }

  *enter(portion: PreparedRun, isOver: IsOver): Generator<void, void> {
    if (this.#placements.size > 0) {
      for (const question of this.#placements.keys()) this.#wereOpen.add(question);
      this.#placements = new Map();
    }
    for (const [text, placements] of byText(portion.distinct)) {
      const standsOn = bitsOf(placements.map(({ surface }) => surface));
      const asked = (question: number) =>
        ((this.#reads[question] as number) & standsOn) !== 0 && this.#isAsked(question);
      for (const question of this.#scan(text, asked)) {
        const known = this.#placements.get(question);
        if (known === undefined) this.#placements.set(question, [...placements]);
        else known.push(...placements);
      }
      if (isOver()) yield;
    }
    // Text by text they came; in time order they are asked.
    for (const placements of this.#placements.values()) {
      placements.sort((a, b) => a.textIndex - b.textIndex);
    }
  }

  /** The questions that a text leaves open, in any of its readings. */
  #scan(text: PreparedText, asked: (question: number) => boolean): Set<number> {
    const open = new Set<number>();
    const readings = this.#prefilter.candidates(text.readings, asked);
    readings.forEach((windows, which) => {
      const reading = text.readings[which];
      if (reading !== undefined) this.#remember(reading, windows);
      for (const question of windows.keys()) open.add(question);
    });
    return open;
  }

  /** The same text may appear on another surface, with other questions. */
  #remember({ bytes }: Reading, windows: Candidates): void {
    const before = this.#candidates.get(bytes);
    const all = before === undefined ? windows : new Map([...before, ...windows]);
    this.#candidates.set(bytes, all);
  }

  get open(): Iterable<number> {
    return this.#placements.keys();
  }

  placementsOf(question: number): readonly Placement[] {
    return this.#placements.get(question) ?? NOWHERE;
  }

  mayHit(question: number): boolean {
    return this.#placements.has(question) || this.#wereOpen.has(question);
  }

  find(question: number, pattern: Pattern, { bytes }: Reading): ByteRange | null {
    const windows = this.#candidates.get(bytes)?.get(question);
    return windows === undefined ? null : findWithin(pattern, bytes, windows);
  }
}

function bitsOf(surfaces: readonly Surface[]): number {
  return surfaces.reduce((bits, surface) => bits | (1 << SURFACES.indexOf(surface)), 0);
}

function byText(placements: readonly Placement[]): Map<PreparedText, Placement[]> {
  const texts = new Map<PreparedText, Placement[]>();
  for (const placement of placements) {
    const known = texts.get(placement.text);
    if (known === undefined) texts.set(placement.text, [placement]);
    else known.push(placement);
  }
  return texts;
}

/**
 * The leftmost match, asked for within the windows, in order: every match of the text lies in one.
 *
 * What matches inside a window, away from its edges, matches in the text: RE2 looks at no more than
 * one character on either side. At an edge that is not the text's own it may be the edge that made
 * the match (`^`, `$`, `\b`), so there the whole text is asked.
 */
function findWithin(pattern: Pattern, bytes: Buffer, windows: Windows): ByteRange | null {
  if (windows === null) return findIn(pattern, bytes);
  for (let at = 0; at < windows.length; at += 2) {
    const from = windows[at] ?? 0;
    const to = windows[at + 1] ?? bytes.length;
    const found = findIn(pattern, bytes.subarray(from, to));
    if (found === null) continue;
    const start = from + found.start;
    const end = from + found.end;
    const isInside = (start > from || from === 0) && (end < to || to === bytes.length);
    return isInside ? { start, end } : findIn(pattern, bytes);
  }
  return null;
}
