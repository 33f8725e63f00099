/**
 * Owns the question which patterns can match a text at all, and where.
 *
 * The promise: a pattern that is not named, or a place outside the windows named for it, holds no
 * match. The reverse is not promised: passing proves nothing, RE2 must be asked.
 *
 *   text ──► every literal's places (one walk) ──► branches whose rarest literal was hit
 *        ──► their other literals near it? ──► windows as wide as a match can reach ──► RE2
 */
import { type Automaton, bytesOf, createAutomaton, Hits, scan } from './automaton.ts';
import { Folding } from './fold.ts';
import { forgetParts, spellingsOf } from './literals.ts';
import { either, type Pages, PagesOfText } from './pages.ts';
import { type Reach, reachIn, type TextBounds } from './reach.ts';
import { type Branch, type Group, requirementsOf } from './requirements.ts';

/** Groups looked for beside the rarest one; more cost more than they keep away. */
const COMPANIONS_MAX = 2;
/** A companion that is hit more often than this says too little. */
const COMPANION_COST_MAX = 0.0005;

/** A group and its literals' ids. */
interface Sought {
  readonly group: Group;
  readonly literals: Int32Array;
}

/** A group that every match has beside the anchor: so far at most before or behind it. */
interface Companion extends Sought {
  readonly back: Reach | null;
  readonly ahead: Reach | null;
}

interface SoughtBranch {
  readonly pattern: number;
  readonly pages: Pages;
  readonly anchor: Sought;
  readonly companions: readonly Companion[];
}

/** Where a pattern may match: byte ranges in order, apart from each other; null for anywhere. */
export type Windows = readonly number[] | null;

/** Pattern index → where to look; patterns that are not in it cannot match. */
export type Candidates = ReadonlyMap<number, Windows>;

export class Prefilter {
  /** patterns that need nothing which could be looked for */
  readonly always: readonly number[];
  /** the same for texts that touch certain pages of Unicode: in others they cannot match */
  readonly alwaysOnPages: ReadonlyMap<number, ReadonlySet<number>>;
  readonly #pages = new PagesOfText();
  readonly #folding = new Folding();
  /** of the literals that are all ASCII */
  readonly #ascii: Automaton;
  /** of the others, for texts that are not all ASCII */
  readonly #beyond: Automaton;
  readonly #hits: Hits;
  readonly #branches: readonly SoughtBranch[];
  /** literal id → the branches it anchors */
  readonly #anchored: readonly (readonly number[])[];
  readonly #seen: Int32Array;
  #stamp = 0;

  /** @param sources patterns, as RE2 takes them */
  constructor(sources: readonly string[]) {
    const literals = new LiteralTable();
    const always: number[] = [];
    const onPages = new Map<number, ReadonlySet<number>>();
    const branches: SoughtBranch[] = [];
    sources.forEach((source, pattern) => {
      const required = requirementsOf(source);
      const sought = soughtOf(required, pattern, literals);
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
    this.#branches = branches;
    const isAscii = (literal: Buffer) => literal.every((byte) => byte < 0x80);
    this.#ascii = createAutomaton(literals.bytes, isAscii);
    this.#beyond = createAutomaton(literals.bytes, (literal) => !isAscii(literal));
    this.#hits = new Hits(literals.bytes.length);
    const anchored: number[][] = literals.bytes.map(() => []);
    branches.forEach(({ anchor }, index) => {
      for (const literal of anchor.literals) anchored[literal]?.push(index);
    });
    this.#anchored = anchored;
    this.#seen = new Int32Array(branches.length);
  }

  /** How big the tables are, for people who tune. */
  get size(): { literals: number; states: number; branches: number; bytes: number } {
    const tables = [this.#ascii, this.#beyond];
    return {
      literals: this.#anchored.length,
      states: tables.reduce((sum, { label }) => sum + label.length, 0),
      branches: this.#branches.length,
      bytes: tables.reduce((sum, table) => sum + bytesOf(table), 0),
    };
  }

  /**
   * Which patterns can match, and where.
   * @param text UTF-8
   * @param asked is the pattern of any interest?
   * @param within only matches are of interest that touch one of these stretches, with the character
   *   on either side of them: pairs of offsets, in order; null for all. Asked for once, if at all.
   */
  candidates(
    text: Buffer,
    asked: (pattern: number) => boolean,
    within: () => Int32Array | null = () => null,
  ): Candidates {
    const windows = new Map<number, number[] | null>();
    const folding = this.#folding;
    folding.fold(text);
    const hits = this.#hits;
    hits.clear();
    const { bounds } = folding;
    const isAscii = bounds.charBytes === 1;
    scan(this.#ascii, folding, hits);
    if (!isAscii) scan(this.#beyond, folding, hits);
    for (const pattern of this.always) if (asked(pattern)) windows.set(pattern, null);
    if (!isAscii) {
      this.#pages.note(text);
      for (const [pattern, pages] of this.alwaysOnPages) {
        if (this.#pages.touches(pages) && asked(pattern)) windows.set(pattern, null);
      }
    }
    this.#stamp += 1;
    const places = new Places(hits);
    for (const literal of hits.literals) {
      for (const index of this.#anchored[literal] ?? []) {
        if (this.#seen[index] === this.#stamp) continue;
        this.#seen[index] = this.#stamp;
        const branch = this.#branches[index];
        if (branch === undefined || !asked(branch.pattern)) continue;
        const { pages } = branch;
        if (pages !== null && (isAscii || !this.#pages.touches(pages))) continue;
        const known = windows.get(branch.pattern);
        if (known === null) continue;
        const found = windowsOf(branch, places, bounds, text.length);
        if (found === null) windows.set(branch.pattern, null);
        else if (found.length > 0) {
          if (known === undefined) windows.set(branch.pattern, found);
          else known.push(...found);
        }
      }
    }
    let stretches: Int32Array | null | undefined;
    for (const [pattern, found] of windows) {
      if (found === null) continue;
      const merged = merge(found, text);
      stretches = stretches === undefined ? within() : stretches;
      const those = stretches === null ? merged : touching(merged, stretches);
      if (those?.length === 0) windows.delete(pattern);
      else windows.set(pattern, those);
    }
    return windows;
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
): SoughtBranch[] | null {
  if (branches === null) return null;
  const sought: SoughtBranch[] = [];
  for (const { groups, pages } of branches) {
    const byCost = groups.toSorted((a, b) => a.cost - b.cost);
    const found: Sought[] = [];
    for (const group of byCost) {
      if (found.length > 0 && group.cost > COMPANION_COST_MAX) break;
      if (found.length > COMPANIONS_MAX) break;
      const ids = literals.idsOf(group.literals);
      if (ids !== null) found.push({ group, literals: ids });
    }
    const [anchor, ...rest] = found;
    if (anchor === undefined) return null;
    const companions = rest.map((companion) => companionOf(anchor.group, companion));
    sought.push({ pattern, pages, anchor, companions });
  }
  return sought;
}

/** Where a companion stands, as narrowly as it is known. */
function companionOf(anchor: Group, { group, literals }: Sought): Companion {
  const ahead = anchor.gaps.get(group.key);
  if (ahead !== undefined) return { group, literals, back: null, ahead };
  const back = group.gaps.get(anchor.key);
  if (back !== undefined) return { group, literals, back, ahead: null };
  return { group, literals, back: anchor.before, ahead: anchor.after };
}

/** The places of groups in one text, in order, each group's once. */
class Places {
  readonly #hits: Hits;
  readonly #known = new Map<Int32Array, Int32Array>();

  constructor(hits: Hits) {
    this.#hits = hits;
  }

  has({ literals }: Sought): boolean {
    const { first } = this.#hits;
    for (let at = 0; at < literals.length; at += 1) {
      if ((first[literals[at] as number] as number) !== -1) return true;
    }
    return false;
  }

  of({ literals }: Sought): Int32Array {
    const known = this.#known.get(literals);
    if (known !== undefined) return known;
    const { first, following, places } = this.#hits;
    const found: number[] = [];
    let sources = 0;
    for (const literal of literals) {
      let hit = first[literal] as number;
      if (hit !== -1) sources += 1;
      for (; hit !== -1; hit = following[hit] as number) found.push(places[hit] as number);
    }
    const all = Int32Array.from(found);
    if (sources > 1) all.sort();
    this.#known.set(literals, all);
    return all;
  }
}

/** The windows of one branch: pairs of start and end; null for the whole text. */
function windowsOf(
  { anchor, companions }: SoughtBranch,
  places: Places,
  bounds: TextBounds,
  length: number,
): number[] | null {
  for (const companion of companions) if (!places.has(companion)) return [];
  const before = reachIn(anchor.group.before, bounds);
  const after = reachIn(anchor.group.after, bounds);
  const isAnywhere = before >= length && after >= length;
  if (isAnywhere) return null;
  const near = companions.map((companion) => ({
    places: places.of(companion),
    back: companion.back === null ? 0 : reachIn(companion.back, bounds),
    ahead: companion.ahead === null ? 0 : reachIn(companion.ahead, bounds),
  }));
  const windows: number[] = [];
  for (const place of places.of(anchor)) {
    const isComplete = near.every((those) =>
      hasWithin(those.places, place - those.back, place + those.ahead),
    );
    if (isComplete) windows.push(Math.max(0, place - before), Math.min(length, place + after));
  }
  return windows;
}

/** Is one of the sorted places in the range? */
function hasWithin(places: Int32Array, from: number, to: number): boolean {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  return low < places.length && (places[low] as number) <= to;
}

/** A character on either side, so that `\b` and `^` see what is there. */
const EDGE_BYTES = 4;

/** Windows in order, those that touch as one, on character boundaries, with an edge. */
function merge(found: number[], text: Buffer): number[] | null {
  const pairs: [number, number][] = [];
  for (let at = 0; at < found.length; at += 2) {
    pairs.push([found[at] as number, found[at + 1] as number]);
  }
  pairs.sort((a, b) => a[0] - b[0]);
  const merged: number[] = [];
  let covered = 0;
  for (const [from, to] of pairs) {
    const start = boundaryBefore(text, from - EDGE_BYTES);
    const end = boundaryAfter(text, to + EDGE_BYTES);
    const last = merged.length - 1;
    if (last > 0 && start <= (merged[last] as number)) {
      if (end > (merged[last] as number)) {
        covered += end - (merged[last] as number);
        merged[last] = end;
      }
    } else {
      merged.push(start, end);
      covered += end - start;
    }
  }
  return covered >= text.length ? null : merged;
}

/** The windows that touch one of the stretches. */
function touching(windows: number[] | null, stretches: Int32Array): number[] | null {
  if (windows === null) return null;
  const touched: number[] = [];
  let at = 0;
  for (let window = 0; window < windows.length; window += 2) {
    const from = windows[window] as number;
    const to = windows[window + 1] as number;
    while (at < stretches.length && (stretches[at + 1] as number) < from) at += 2;
    if (at < stretches.length && (stretches[at] as number) <= to) touched.push(from, to);
  }
  return touched;
}

function boundaryBefore(text: Buffer, at: number): number {
  let boundary = Math.max(0, at);
  while (boundary > 0 && ((text[boundary] ?? 0) & 0xc0) === 0x80) boundary -= 1;
  return boundary;
}

function boundaryAfter(text: Buffer, at: number): number {
  let boundary = Math.min(text.length, at);
  while (boundary < text.length && ((text[boundary] ?? 0) & 0xc0) === 0x80) boundary += 1;
  return boundary;
}
