/**
 * Owns the branches of all patterns and their requirements, in typed arrays: for a text with many
 * literals about a thousand branches are checked, and memory access costs more than the comparison.
 */

import { startsOf } from './int-arrays.ts';
import {
  type Extent,
  ExtentList,
  type ExtentTables,
  type TextBounds,
  TextExtents,
} from './match-extent.ts';
import type { PageRange, Pages } from './unicode-pages.ts';

/** A set of literals that every match has, at most so far before or after the anchor. */
export interface Companion {
  readonly set: number;
  readonly back: Extent;
  readonly ahead: Extent;
  /** from the match's start to the companion's literal, and from there to the match's end */
  readonly before: Extent;
  readonly after: Extent;
}

/** A branch of a pattern: its rarest set of literals, the anchor, and others near it. */
export interface AnchoredBranch {
  readonly pattern: number;
  readonly pages: Pages;
  /** the anchor */
  readonly set: number;
  readonly before: Extent;
  readonly after: Extent;
  readonly companions: readonly Companion[];
}

/** Most sets beside the anchor; more cost more than they exclude. */
export const COMPANIONS_MAX = 2;
const NO_SET = -1;

/** Branches by number. Plain data, so that threads can share it. */
export interface BranchTables {
  /** branch → pattern */
  readonly pattern: Int32Array;
  /** branch → the set that anchors it */
  readonly set: Int32Array;
  /** branch → id of the extent of a match before and after the anchor */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** set → index in `anchored` of the first branch that it anchors; they end at the next set's */
  readonly anchoredAt: Int32Array;
  readonly anchored: Int32Array;
  /** branch → pages of Unicode; every match has a character of one of them */
  readonly pages: ReadonlyMap<number, readonly PageRange[]>;
  readonly needsPage: Uint8Array;
  /** branch * COMPANIONS_MAX + index → set, or NO_SET; extents before and after the anchor */
  readonly companion: Int32Array;
  readonly back: Int32Array;
  readonly ahead: Int32Array;
  /** the same: extents of a match before and after the companion */
  readonly companionBefore: Int32Array;
  readonly companionAfter: Int32Array;
  readonly extents: ExtentTables;
}

/** @param sets number of sets */
export function branchTables(branches: readonly AnchoredBranch[], sets: number): BranchTables {
  const extents = new ExtentList();
  const before = Int32Array.from(branches, (branch) => extents.idOf(branch.before));
  const after = Int32Array.from(branches, (branch) => extents.idOf(branch.after));
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
    one.companions.forEach((other, index) => {
      const at = branch * COMPANIONS_MAX + index;
      companion[at] = other.set;
      back[at] = extents.idOf(other.back);
      ahead[at] = extents.idOf(other.ahead);
      companionBefore[at] = extents.idOf(other.before);
      companionAfter[at] = extents.idOf(other.after);
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
    extents: extents.tables,
  };
}

export class Branches {
  readonly tables: BranchTables;
  readonly #extents: TextExtents;

  constructor(tables: BranchTables) {
    this.tables = tables;
    this.#extents = new TextExtents(tables.extents);
  }

  /** Pages of Unicode; every match has a character of one of them. Null if a match may be all ASCII. */
  pagesOf(branch: number): Pages {
    const { needsPage, pages } = this.tables;
    return needsPage[branch] === 1 ? (pages.get(branch) ?? null) : null;
  }

  /** The set of a companion, -1 for none. @param index below `COMPANIONS_MAX` */
  companion(branch: number, index: number): number {
    return this.tables.companion[branch * COMPANIONS_MAX + index] as number;
  }

  /** How far before the anchor a companion begins at most, in bytes. */
  back(branch: number, index: number): number {
    return this.extentOf(this.tables.back[branch * COMPANIONS_MAX + index] as number);
  }

  /** How far after it. */
  ahead(branch: number, index: number): number {
    return this.extentOf(this.tables.ahead[branch * COMPANIONS_MAX + index] as number);
  }

  /** How far a match extends before a companion at most. */
  companionBefore(branch: number, index: number): number {
    return this.extentOf(this.tables.companionBefore[branch * COMPANIONS_MAX + index] as number);
  }

  /** How far a match extends from a companion at most. */
  companionAfter(branch: number, index: number): number {
    return this.extentOf(this.tables.companionAfter[branch * COMPANIONS_MAX + index] as number);
  }

  enter(bounds: TextBounds): void {
    this.#extents.enter(bounds);
  }

  extentOf(id: number): number {
    return this.#extents.bytesOf(id);
  }
}
