/**
 * Owns what the prefilter knows of the patterns: their literals' automata, and what each pattern needs
 * of them. Plain data and flat tables: made once, and shared by as many threads as match.
 */
import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';

import { type Automaton, createAutomaton } from './aho-corasick.ts';
import {
  type BranchTables,
  branchTables,
  COMPANIONS_MAX,
  type Companion,
  type SoughtBranch,
} from './branches.ts';
import { type Shapes, shapesOf } from './literal-hits.ts';
import { type SetsOfLiterals, SetTable, setsOfLiterals } from './literal-sets.ts';
import { forgetParts, spellingsOf } from './literals.ts';
import { NOWHERE } from './match-extent.ts';
import {
  type Branch,
  type Group,
  type RequirementsReader,
  requirementsOf,
} from './requirements.ts';
import { either, type PageRange } from './unicode-pages.ts';

/** A companion that is hit more often than this says too little. */
const COMPANION_COST_MAX = 0.0005;

/** Patterns are numbered as they were given. */
export interface PrefilterTables {
  /** tells the patterns, in their order, from any others */
  readonly patternsSha256: string;
  /** those that need nothing which could be looked for */
  readonly always: Int32Array;
  /** the same for texts that touch certain pages of Unicode: in others they cannot match */
  readonly alwaysOnPages: ReadonlyMap<number, readonly PageRange[]>;
  /** of the literals that are all ASCII */
  readonly ascii: Automaton;
  /** of the others, for texts that are not all ASCII */
  readonly beyond: Automaton;
  readonly shapes: Shapes;
  readonly sets: SetsOfLiterals;
  readonly branches: BranchTables;
}

/**
 * Takes a second for the whole corpus.
 * @param sources patterns, as RE2 takes them
 */
export function createPrefilterTables(
  sources: readonly string[],
  read: RequirementsReader = requirementsOf,
): PrefilterTables {
  const literals = new LiteralTable();
  const sets = new SetTable();
  const always: number[] = [];
  const alwaysOnPages = new Map<number, readonly PageRange[]>();
  const branches: SoughtBranch[] = [];
  sources.forEach((source, pattern) => {
    const required = read(source);
    const sought = soughtOf(required, pattern, literals, sets);
    if (sought !== null) {
      branches.push(...sought);
      return;
    }
    const pages = required?.map((branch) => branch.pages).reduce(either) ?? null;
    if (pages === null) always.push(pattern);
    else alwaysOnPages.set(pattern, pages);
  });
  forgetParts();
  return {
    patternsSha256: sha256Of(sources),
    always: Int32Array.from(always),
    alwaysOnPages,
    ascii: createAutomaton(literals.bytes, (literal) => isAscii(literal)),
    beyond: createAutomaton(literals.bytes, (literal) => !isAscii(literal)),
    shapes: shapesOf(literals.bytes),
    sets: setsOfLiterals(sets.sets, literals.bytes.length),
    branches: branchTables(branches, sets.sets.length),
  };
}

/** What tells patterns, in their order, from any others. */
export function sha256Of(sources: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(sources)).digest('hex');
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
  const { before, after } = group;
  const ahead = anchor.gaps.get(group.key);
  if (ahead !== undefined) return { set, back: NOWHERE, ahead, before, after };
  const back = group.gaps.get(anchor.key);
  if (back !== undefined) return { set, back, ahead: NOWHERE, before, after };
  return { set, back: anchor.before, ahead: anchor.after, before, after };
}
