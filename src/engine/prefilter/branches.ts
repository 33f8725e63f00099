/**
 * Owns the branches of all patterns and what each needs, as flat tables: a text that many literals
 * stand in asks about a thousand branches, and what is spread over memory costs more to look up than
 * to compare.
 */

import { startsOf } from './int-arrays.ts';
import {
  type Reach,
  ReachesInText,
  ReachList,
  type ReachTables,
  type TextBounds,
} from './match-extent.ts';
import type { PageRange, Pages } from './unicode-pages.ts';

/** A set of literals that every match has: so far at most before or behind its anchor. */
export interface Companion {
  readonly set: number;
  readonly back: Reach;
  readonly ahead: Reach;
  /** how far a match reaches before and behind the beginning of the companion's literal */
  readonly before: Reach;
  readonly after: Reach;
}

/** A top-level alternative of a pattern: its rarest set of literals, and what stands near it. */
export interface SoughtBranch {
  readonly pattern: number;
  readonly pages: Pages;
  /** the anchor */
  readonly set: number;
  /** how far a match reaches before and behind the beginning of the anchor's literal */
  readonly before: Reach;
  readonly after: Reach;
  readonly companions: readonly Companion[];
}

/** Sets looked for beside the anchor; more cost more than they keep away. */
export const COMPANIONS_MAX = 2;
const NO_SET = -1;

/** Branches by number. Plain data: may be shared between threads. */
export interface BranchTables {
  /** branch → pattern */
  readonly pattern: Int32Array;
  /** branch → the set that anchors it */
  readonly set: Int32Array;
  /** branch → how far a match reaches, as `reach` tells it */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** set → where the branches it anchors begin in `anchored`; they end where those of the next begin */
  readonly anchoredAt: Int32Array;
  readonly anchored: Int32Array;
  /** branch → pages of Unicode one of which every match touches, by those that need any */
  readonly pages: ReadonlyMap<number, readonly PageRange[]>;
  readonly needsPage: Uint8Array;
  /** branch * COMPANIONS_MAX + which → set, or NO_SET; how far before and behind the anchor */
  readonly companion: Int32Array;
  readonly back: Int32Array;
  readonly ahead: Int32Array;
  /** the same: how far a match reaches before and behind the companion */
  readonly companionBefore: Int32Array;
  readonly companionAfter: Int32Array;
  readonly reaches: ReachTables;
}

/** @param sets how many there are */
export function branchTables(branches: readonly SoughtBranch[], sets: number): BranchTables {
  const reaches = new ReachList();
  const before = Int32Array.from(branches, (branch) => reaches.idOf(branch.before));
  const after = Int32Array.from(branches, (branch) => reaches.idOf(branch.after));
  const pages = new Map<number, readonly PageRange[]>();
  const needsPage = new Uint8Array(branches.length);
  const companion = new Int32Array(branches.length * COMPANIONS_MAX).fill(NO_SET);
  const back = new Int32Array(branches.length * COMPANIONS_MAX);
  const ahead = new Int32Array(branches.length * COMPANIONS_MAX);
  const companionBefore = new Int32Array(branches.length * COMPANIONS_MAX);
  const companionAfter = new Int32Array(branches.length * COMPANIONS_MAX);
  const anchored: number[][] = Array.from({ length: sets }, () => []);
  branches.forEach((one, branch) => {
    anchored[one.set]?.push(branch);
    if (one.pages !== null) {
      pages.set(branch, one.pages);
      needsPage[branch] = 1;
    }
    one.companions.forEach((other, which) => {
      const at = branch * COMPANIONS_MAX + which;
      companion[at] = other.set;
      back[at] = reaches.idOf(other.back);
      ahead[at] = reaches.idOf(other.ahead);
      companionBefore[at] = reaches.idOf(other.before);
      companionAfter[at] = reaches.idOf(other.after);
    });
  });
  return {
    pattern: Int32Array.from(branches, ({ pattern }) => pattern),
    set: Int32Array.from(branches, ({ set }) => set),
    before,
    after,
    anchoredAt: startsOf(anchored),
    anchored: Int32Array.from(anchored.flat()),
    pages,
    needsPage,
    companion,
    back,
    ahead,
    companionBefore,
    companionAfter,
    reaches: reaches.tables,
  };
}

/** Branches, and what they come to in a text; used again and again. */
export class Branches {
  readonly tables: BranchTables;
  readonly #reaches: ReachesInText;

  constructor(tables: BranchTables) {
    this.tables = tables;
    this.#reaches = new ReachesInText(tables.reaches);
  }

  /** The pages of Unicode one of which every match touches; null when ASCII may do. */
  pagesOf(branch: number): Pages {
    const { needsPage, pages } = this.tables;
    return needsPage[branch] === 1 ? (pages.get(branch) ?? null) : null;
  }

  /** The set of a companion, -1 for none. @param which below `COMPANIONS_MAX` */
  companion(branch: number, which: number): number {
    return this.tables.companion[branch * COMPANIONS_MAX + which] as number;
  }

  /** How far before its anchor a companion stands at most, in bytes of the text at hand. */
  back(branch: number, which: number): number {
    return this.reach(this.tables.back[branch * COMPANIONS_MAX + which] as number);
  }

  /** How far behind. */
  ahead(branch: number, which: number): number {
    return this.reach(this.tables.ahead[branch * COMPANIONS_MAX + which] as number);
  }

  /** How far a match reaches before a companion at most. */
  companionBefore(branch: number, which: number): number {
    return this.reach(this.tables.companionBefore[branch * COMPANIONS_MAX + which] as number);
  }

  /** How far behind. */
  companionAfter(branch: number, which: number): number {
    return this.reach(this.tables.companionAfter[branch * COMPANIONS_MAX + which] as number);
  }

  /** Goes on to the next text. */
  enter(bounds: TextBounds): void {
    this.#reaches.enter(bounds);
  }

  /** A reach in the text at hand, in bytes; Infinity when nothing holds it. */
  reach(id: number): number {
    return this.#reaches.bytesOf(id);
  }
}
