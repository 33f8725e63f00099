/**
 * Owns the prefilter's tables of the patterns: the automata of their literals, and the requirements of
 * each pattern. Plain data and typed arrays: built once, shared by all match threads.
 */
import { createHash } from 'node:crypto';

import {
  type AnchoredBranch,
  type BranchTables,
  branchTables,
  COMPANIONS_MAX,
  type Companion,
} from './branches.ts';
import { spellingsOf } from './case-equivalents.ts';
import { createEndingTables, type EndingTables } from './literal-endings.ts';
import { type LiteralShapes, shapesOf } from './literal-hits.ts';
import { type SetsOfLiterals, SetTable, setsOfLiterals } from './literal-sets.ts';
import { NO_EXTENT } from './match-extent.ts';
import { createNonAsciiTables, type NonAsciiTables } from './non-ascii-literals.ts';
import {
  type Branch,
  createRequirementsReader,
  type RequiredLiterals,
  type RequirementsReader,
} from './requirements.ts';
import { either, type PageRange } from './unicode-pages.ts';

/** More frequent companions exclude too little, except beside an anchor as frequent, in matches as long as a line. */
const COMPANION_COST_MAX = 0.0005;
const COMPANION_COST_MAX_IN_LINES = 0.01;

/** A pattern's number is its index in the list of sources. */
export interface PrefilterTables {
  /** digest of the patterns, in order */
  readonly patternsSha256: string;
  /** patterns without literals: they may match any text */
  readonly always: Int32Array;
  /** patterns without literals that match only texts with a character of these pages */
  readonly alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  /** of the literals that are all ASCII */
  readonly ascii: EndingTables;
  /** of the others */
  readonly nonAscii: NonAsciiTables;
  readonly shapes: LiteralShapes;
  readonly sets: SetsOfLiterals;
  readonly branches: BranchTables;
}

/**
 * Builds the tables; takes a second for the whole corpus.
 * @param sources patterns in RE2's syntax
 */
export function createPrefilterTables(
  sources: readonly string[],
  read: RequirementsReader = createRequirementsReader(),
): PrefilterTables {
  const literals = new LiteralTable();
  const sets = new SetTable();
  const always: number[] = [];
  const alwaysOnPages = new Map<number, readonly PageRange[]>();
  const branches: AnchoredBranch[] = [];
  sources.forEach((source, pattern) => {
    const required = read(source);
    const anchored = required === null ? null : anchor(required, pattern, literals, sets);
    if (anchored !== null) {
      branches.push(...anchored);
      return;
    }
    const pages = required?.map((branch) => branch.pages).reduce(either) ?? null;
    if (pages === null) always.push(pattern);
    else alwaysOnPages.set(pattern, pages);
  });
  return {
    patternsSha256: sha256Of(sources),
    always: Int32Array.from(always),
    alwaysOnPages,
    ascii: createEndingTables(literals.bytes),
    nonAscii: createNonAsciiTables(literals.bytes),
    shapes: shapesOf(literals.bytes),
    sets: setsOfLiterals(sets.sets, literals.bytes.length),
    branches: branchTables(branches, sets.sets.length),
  };
}

export function sha256Of(sources: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(sources)).digest('hex');
}

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

/** Chooses the anchor and the companions of each branch; null if a branch has no literals. */
function anchor(
  branches: readonly Branch[],
  pattern: number,
  literals: LiteralTable,
  sets: SetTable,
): AnchoredBranch[] | null {
  const all: AnchoredBranch[] = [];
  for (const { required, pages } of branches) {
    const byCost = required.toSorted((a, b) => a.cost - b.cost);
    const found: { readonly one: RequiredLiterals; readonly set: number }[] = [];
    for (const one of byCost) {
      const [anchored] = found;
      if (anchored !== undefined && one.cost > companionCostMax(anchored.one)) break;
      if (found.length > COMPANIONS_MAX) break;
      const ids = literals.idsOf(one.literals);
      const set = ids === null ? null : sets.idOf(ids);
      // The anchor's set again excludes nothing: the anchor is near itself.
      if (set !== null && found.every((other) => other.set !== set)) found.push({ one, set });
    }
    const [first, ...rest] = found;
    if (first === undefined) return null;
    const { before, after } = first.one;
    const companions = rest.map(({ one, set }) => companionOf(first.one, one, set));
    all.push({ pattern, pages, set: first.set, before, after, companions });
  }
  return all;
}

function companionCostMax({ cost, before, after }: RequiredLiterals): number {
  const isLong = before.line + before.unbounded + after.line + after.unbounded > 0;
  return isLong && cost > COMPANION_COST_MAX ? COMPANION_COST_MAX_IN_LINES : COMPANION_COST_MAX;
}

/** The place of a companion, as narrowly as it is known. */
function companionOf(anchored: RequiredLiterals, one: RequiredLiterals, set: number): Companion {
  const { before, after } = one;
  const ahead = anchored.gaps.get(one.key);
  if (ahead !== undefined) return { set, back: NO_EXTENT, ahead, before, after };
  const back = one.gaps.get(anchored.key);
  if (back !== undefined) return { set, back, ahead: NO_EXTENT, before, after };
  return { set, back: anchored.before, ahead: anchored.after, before, after };
}
