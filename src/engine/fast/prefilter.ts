/**
 * Owns the question which patterns can match a text at all, and where.
 *
 * The promise: a pattern that is not named, or a place outside the windows named for it, holds no
 * match. The reverse is not promised: passing proves nothing, RE2 must be asked.
 *
 *   text ──► every literal's places (one walk) ──► branches whose rarest literal was hit
 *        ──► their other literals near it? ──► windows as wide as a match can reach ──► RE2
 */
import type { Changes } from '../text.ts';
import { type Automaton, bytesOf, createAutomaton, scan, scanBeyondAscii } from './automaton.ts';
import { Branches, COMPANIONS_MAX, type Companion, type SoughtBranch } from './branches.ts';
import { carryOver, isWorthCarrying } from './carry-over.ts';
import { Folding } from './fold.ts';
import { Hits } from './hits.ts';
import { forgetParts, spellingsOf } from './literals.ts';
import { either, type PageRange, PagesOfText } from './pages.ts';
import { Places, SetTable } from './places.ts';
import { NOWHERE } from './reach.ts';
import { type Branch, type Group, requirementsOf } from './requirements.ts';
import { addWindows, merge, type Windows } from './windows.ts';

/** A companion that is hit more often than this says too little. */
const COMPANION_COST_MAX = 0.0005;

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
  readonly always: readonly number[];
  /** the same for texts that touch certain pages of Unicode: in others they cannot match */
  readonly alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  readonly #pages = new PagesOfText();
  readonly #folding = new Folding();
  /** of the literals that are all ASCII */
  readonly #ascii: Automaton;
  /** of the others, for texts that are not all ASCII */
  readonly #beyond: Automaton;
  readonly #hits: Hits;
  /** of a second reading, and where they are found around its changes */
  readonly #second: Hits;
  readonly #around: Hits;
  readonly #places: Places;
  readonly #branches: Branches;
  /** branch → the last text it was looked at for */
  readonly #seen: Int32Array;
  #text = 0;

  /** @param sources patterns, as RE2 takes them */
  constructor(sources: readonly string[]) {
    const literals = new LiteralTable();
    const sets = new SetTable();
    const always: number[] = [];
    const onPages = new Map<number, readonly PageRange[]>();
    const branches: SoughtBranch[] = [];
    sources.forEach((source, pattern) => {
      const required = requirementsOf(source);
      const sought = soughtOf(required, pattern, literals, sets);
      if (sought !== null) {
        branches.push(...sought);
        return;
      }
      const pages = required?.map((branch) => branch.pages).reduce(either) ?? null;
      if (pages === null) always.push(pattern);
      else onPages.set(pattern, pages);
    });
    forgetParts();
    this.always = always;
    this.alwaysOnPages = onPages;
    const isAscii = (literal: Buffer) => literal.every((byte) => byte < 0x80);
    this.#ascii = createAutomaton(literals.bytes, isAscii);
    this.#beyond = createAutomaton(literals.bytes, (literal) => !isAscii(literal));
    this.#hits = new Hits(literals.bytes.length);
    this.#second = new Hits(literals.bytes.length);
    this.#around = new Hits(literals.bytes.length);
    this.#places = new Places(sets.sets, this.#hits);
    this.#branches = new Branches(branches, sets.sets, literals.bytes.length);
    this.#seen = new Int32Array(branches.length);
  }

  /** How big the tables are, for people who tune. */
  get size(): { literals: number; states: number; branches: number; bytes: number } {
    const tables = [this.#ascii, this.#beyond];
    return {
      literals: this.#hits.first.length,
      states: tables.reduce((sum, { label }) => sum + label.length, 0),
      branches: this.#seen.length,
      bytes: tables.reduce((sum, table) => sum + bytesOf(table), 0),
    };
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
    /** of the first reading: hits of literals that are all ASCII */
    let ascii = 0;
    return readings.map(({ bytes, changes: changesOf }, which) => {
      this.#folding.fold(bytes);
      const changes = which === 0 ? null : changesOf();
      const longest = Math.max(this.#ascii.longest, this.#beyond.longest);
      if (changes !== null && isWorthCarrying(changes, longest, bytes.length)) {
        this.#carryOver(changes, ascii);
        return this.#candidatesIn(bytes, this.#second, asked, changes.read);
      }
      this.#hits.clear();
      scan(this.#ascii, this.#folding, this.#hits);
      ascii = this.#hits.count;
      if (!this.#isAscii) scanBeyondAscii(this.#beyond, this.#folding, this.#hits);
      return this.#candidatesIn(bytes, this.#hits, asked, changes?.read ?? null);
    });
  }

  get #isAscii(): boolean {
    return this.#folding.bounds.continuations === 0;
  }

  /** The hits of the second reading, now folded, from those of the first. */
  #carryOver(changes: Changes<Int32Array>, ascii: number): void {
    const folded = this.#folding;
    const first = this.#hits;
    const second = this.#second;
    second.clear();
    for (const [automaton, from, until] of [
      [this.#ascii, 0, ascii],
      [this.#beyond, ascii, first.count],
    ] as const) {
      const { longest } = automaton;
      const walk = (hits: Hits, begin: number, end: number) =>
        scan(automaton, folded, hits, begin, end);
      const reading = { folded, changes, longest, scan: walk };
      carryOver(reading, first, from, until, this.#around, second);
    }
  }

  #candidatesIn(
    text: Buffer,
    hits: Hits,
    asked: (pattern: number) => boolean,
    stretches: Int32Array | null,
  ): Candidates {
    const isAscii = this.#isAscii;
    const found = new Map<number, number[] | null>();
    for (const pattern of this.always) if (asked(pattern)) found.set(pattern, null);
    if (!isAscii) {
      this.#pages.note(text);
      for (const [pattern, pages] of this.alwaysOnPages) {
        if (this.#pages.touches(pages) && asked(pattern)) found.set(pattern, null);
      }
    }
    const branches = this.#branches;
    branches.enter(this.#folding.bounds);
    for (const branch of this.#possible(hits, isAscii)) {
      const pattern = branches.pattern[branch] as number;
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
  #possible(hits: Hits, isAscii: boolean): number[] {
    this.#text += 1;
    this.#places.next(hits);
    const { anchored, anchoredAt } = this.#branches;
    const possible: number[] = [];
    for (const literal of hits.literals) {
      const end = anchoredAt[literal + 1] as number;
      for (let at = anchoredAt[literal] as number; at < end; at += 1) {
        const branch = anchored[at] as number;
        if (this.#seen[branch] === this.#text) continue;
        this.#seen[branch] = this.#text;
        if (this.#isPossible(branch, isAscii)) possible.push(branch);
      }
    }
    return possible;
  }

  #isPossible(branch: number, isAscii: boolean): boolean {
    for (let which = 0; which < COMPANIONS_MAX; which += 1) {
      const set = this.#branches.companion(branch, which);
      if (set < 0) break;
      if (!this.#places.has(set)) return false;
    }
    const pages = this.#branches.pagesOf(branch);
    return pages === null || (!isAscii && this.#pages.touches(pages));
  }
}

/** Literals by their bytes, each once. */
class LiteralTable {
  readonly bytes: Buffer[] = [];
  readonly #ids = new Map<string, number>();

  /** @returns null when a literal has too many spellings */
  idsOf(literals: readonly string[]): Int32Array | null {
    const ids = new Set<number>();
    for (const literal of literals) {
      const spellings = spellingsOf(literal);
      if (spellings === null) return null;
      for (const spelling of spellings) ids.add(this.#idOf(spelling));
    }
    return Int32Array.from(ids);
  }

  #idOf(spelling: string): number {
    const known = this.#ids.get(spelling);
    if (known !== undefined) return known;
    const id = this.bytes.length;
    this.bytes.push(Buffer.from(spelling));
    this.#ids.set(spelling, id);
    return id;
  }
}

function soughtOf(
  branches: readonly Branch[] | null,
  pattern: number,
  literals: LiteralTable,
  sets: SetTable,
): SoughtBranch[] | null {
  if (branches === null) return null;
  const sought: SoughtBranch[] = [];
  for (const { groups, pages } of branches) {
    const byCost = groups.toSorted((a, b) => a.cost - b.cost);
    const found: { readonly group: Group; readonly set: number }[] = [];
    for (const group of byCost) {
      if (found.length > 0 && group.cost > COMPANION_COST_MAX) break;
      if (found.length > COMPANIONS_MAX) break;
      const ids = literals.idsOf(group.literals);
      if (ids !== null) found.push({ group, set: sets.idOf(ids) });
    }
    const [first, ...rest] = found;
    if (first === undefined) return null;
    const { before, after } = first.group;
    const companions = rest.map(({ group, set }) => companionOf(first.group, group, set));
    sought.push({ pattern, pages, set: first.set, before, after, companions });
  }
  return sought;
}

/** Where a companion stands, as narrowly as it is known. */
function companionOf(anchor: Group, group: Group, set: number): Companion {
  const ahead = anchor.gaps.get(group.key);
  if (ahead !== undefined) return { set, back: NOWHERE, ahead };
  const back = group.gaps.get(anchor.key);
  if (back !== undefined) return { set, back, ahead: NOWHERE };
  return { set, back: anchor.before, ahead: anchor.after };
}
